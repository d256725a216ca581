//! Which texts are credentials by their shape alone? One table: a provider's mark, what follows it, an example that
//! must be hidden and a neighbour that must stay.
//!
//! Two steps keep it linear: one automaton finds the marks, then only that row's pattern is tried, anchored where the
//! mark stands. Patterns are compiled when their mark is first seen, without Unicode tables.

use super::{Kind, Spans};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use std::sync::OnceLock;

/// A shape is tried on this much text; what goes on after it in the same run of token bytes belongs to it. Without the
/// bound, a line of nothing but marks would cost its length for each of them.
const WINDOW_BYTES: usize = 512;

/// One shape.
#[derive(Debug)]
pub struct Token {
    pub kind: &'static str,
    /// Literal bytes of every such credential.
    pub mark: &'static str,
    /// Bytes of the shape in front of the mark.
    pub before: usize,
    /// The whole shape, from its first byte.
    pub shape: &'static str,
    /// A template of a credential that must be hidden, whole.
    #[cfg(test)]
    pub hidden: &'static str,
    /// A text with the same mark that must stay.
    #[cfg(test)]
    pub stays: &'static str,
}

macro_rules! tokens {
    ($($kind:literal, $mark:literal, $before:literal, $shape:literal, $hidden:literal, $stays:literal;)*) => {
        /// The table. Order matters only where two rows share a mark: the longer shape first.
        pub const TOKENS: &[Token] = &[$(Token {
            kind: $kind,
            mark: $mark,
            before: $before,
            shape: $shape,
            #[cfg(test)]
            hidden: $hidden,
            #[cfg(test)]
            stays: $stays,
        },)*];
    };
}

// In `hidden`: {a N} is N mixed letters and digits, {x N} hex, {u N} upper case and digits, {l N} lower case and
// digits, {d N} digits, {t N} letters only. The tests fill them, so that no text here looks like an issued secret.
tokens! {
    "1password-key", "A3-", 0, r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}", "A3-{u6}-{u11}-{u5}-{u5}-{u5}", "A3-PAPER-SIZE";
    "1password-token", "ops_eyJ", 0, r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,3}", "ops_eyJ{a260}", "ops_eyJoin";
    "adobe-secret", "p8e-", 0, r"p8e-[A-Za-z0-9]{32}", "p8e-{a32}", "p8e-beta";
    "age-key", "AGE-SECRET-KEY-1", 0, r"(?i)AGE-SECRET-KEY-1[A-Z0-9]{58}", "AGE-SECRET-KEY-1{u58}", "AGE-SECRET-KEY-1 is the prefix";
    "age-key", "AGE-SECRET-KEY-PQ-1", 0, r"AGE-SECRET-KEY-PQ-1[A-Z0-9]{40,}", "AGE-SECRET-KEY-PQ-1{u58}", "AGE-SECRET-KEY-PQ-1";
    "airtable-token", "pat", 0, r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", "pat{a14}.{x64}", "patternmatching12.rs";
    "alibaba-key", "LTAI", 0, r"LTAI[A-Za-z0-9]{12,24}", "LTAI{a20}", "LTAI-short";
    "anthropic-key", "sk-ant-", 0, r"sk-ant-(?:[a-z]+[0-9]{2}-)?[A-Za-z0-9_-]{32,}", "sk-ant-api03-{a93}AA", "sk-ant-hill";
    "artifactory-key", "AKCp", 0, r"AKCp[A-Za-z0-9]{60,}", "AKCp{a69}", "AKCpack";
    "artifactory-token", "cmVmd", 0, r"cmVmd[A-Za-z0-9]{59}", "cmVmd{a59}", "cmVmdA==";
    "aws-key-id", "AKIA", 0, r"AKIA[A-Z0-9]{16}", "AKIA{u16}", "AKIAH";
    "aws-key-id", "ASIA", 0, r"ASIA[A-Z0-9]{16}", "ASIA{u16}", "ASIA PACIFIC";
    "aws-key-id", "ABIA", 0, r"ABIA[A-Z0-9]{16}", "ABIA{u16}", "ABIA";
    "aws-key-id", "ACCA", 0, r"ACCA[A-Z0-9]{16}", "ACCA{u16}", "ACCA";
    "aws-session-token", "IQoJb3JpZ2lu", 0, r"IQoJb3JpZ2lu[A-Za-z0-9+/=_-]{60,}", "IQoJb3JpZ2lu{a200}", "IQoJb3JpZ2lu";
    "aws-session-token", "FwoGZXIvYXdz", 0, r"FwoGZXIvYXdz[A-Za-z0-9+/=_-]{60,}", "FwoGZXIvYXdz{a200}", "FwoGZXIvYXdz";
    "aws-bedrock-key", "ABSK", 0, r"ABSK[A-Za-z0-9+/]{100,}={0,2}", "ABSK{a128}", "ABSK";
    "aws-bedrock-key", "bedrock-api-key-", 0, r"bedrock-api-key-[A-Za-z0-9+/=_-]{30,}", "bedrock-api-key-{a60}", "bedrock-api-key-name";
    "azure-client-secret", "Q~", 4, r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", "{a3}8Q~{a34}", "abc8Q~short";
    "azure-devops-token", "AZDO", 76, r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", "{a76}AZDO{a4}", "the AZDO team";
    "clickhouse-key", "4b1d", 0, r"4b1d[A-Za-z0-9]{38}", "4b1d{a38}", "4b1d0fe27a33";
    "clojars-token", "CLOJARS_", 0, r"CLOJARS_[A-Za-z0-9]{60}", "CLOJARS_{l60}", "CLOJARS_USERNAME";
    "cloudflare-key", "v1.0-", 0, r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", "v1.0-{x24}-{x146}", "v1.0-rc1";
    "crates-token", "cio", 0, r"cio[A-Za-z0-9]{32}", "cio{a32}", "ciopher";
    "databricks-token", "dapi", 0, r"dapi[a-f0-9]{32}(?:-[0-9])?", "dapi{x32}", "dapi-client";
    "digitalocean-token", "doo_v1_", 0, r"doo_v1_[a-f0-9]{64}", "doo_v1_{x64}", "doo_v1_x";
    "digitalocean-token", "dop_v1_", 0, r"dop_v1_[a-f0-9]{64}", "dop_v1_{x64}", "dop_v1_x";
    "digitalocean-token", "dor_v1_", 0, r"dor_v1_[a-f0-9]{64}", "dor_v1_{x64}", "dor_v1_x";
    "docker-token", "dckr_pat_", 0, r"dckr_pat_[A-Za-z0-9_-]{20,}", "dckr_pat_{a27}", "dckr_pat_NAME";
    "docker-token", "dckr_oat_", 0, r"dckr_oat_[A-Za-z0-9_-]{20,}", "dckr_oat_{a32}", "dckr_oat_NAME";
    "doppler-token", "dp.", 0, r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", "dp.pt.{a43}", "dp.pt.name";
    "duffel-token", "duffel_", 0, r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}", "duffel_test_{a43}", "duffel_test_suite";
    "dynatrace-token", "dt0", 0, r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "dt0c01.{u24}.{u64}", "dt0c01.EXAMPLE";
    "easypost-key", "EZAK", 0, r"EZAK[A-Za-z0-9]{54}", "EZAK{l54}", "EZAK";
    "easypost-key", "EZTK", 0, r"EZTK[A-Za-z0-9]{54}", "EZTK{l54}", "EZTK";
    "facebook-token", "EAAM", 0, r"EAAM[A-Za-z0-9]{80,}", "EAAM{a120}", "EAAMount";
    "facebook-token", "EAAC", 0, r"EAAC[A-Za-z0-9]{80,}", "EAAC{a120}", "EAACcount";
    "facebook-token", "|", 15, r"[0-9]{15}\|[A-Za-z0-9_-]{27}", "1{d14}|{a27}", "123456789012345|name";
    "figma-token", "fig", 0, r"fig[dour]_[A-Za-z0-9_-]{40}", "figd_{a40}", "figd_name";
    "flutterwave-key", "FLWSECK", 0, r"FLWSECK(?:_TEST)?-[a-z0-9]{12,40}(?:-X)?", "FLWSECK_TEST-{l32}-X", "FLWSECK_TEST-name";
    "flutterwave-key", "FLWPUBK_TEST-", 0, r"FLWPUBK_TEST-[a-z0-9]{32}-X", "FLWPUBK_TEST-{l32}-X", "FLWPUBK_TEST-name";
    "fly-token", "fo1_", 0, r"fo1_[A-Za-z0-9_-]{43}", "fo1_{a43}", "fo1_bar";
    "fly-token", "fm1", 0, r"fm1[ar]_[A-Za-z0-9+/]{60,}={0,3}", "fm1r_{a120}", "fm1r_x";
    "fly-token", "fm2_", 0, r"fm2_[A-Za-z0-9+/]{60,}={0,3}", "fm2_{a120}", "fm2_x";
    "frameio-token", "fio-u-", 0, r"fio-u-[A-Za-z0-9_=-]{64}", "fio-u-{a64}", "fio-u-name";
    "google-key", "AIza", 0, r"AIza[A-Za-z0-9_-]{35}", "AIza{a35}", "AIzawa";
    "google-secret", "GOCSPX-", 0, r"GOCSPX-[A-Za-z0-9_-]{28}", "GOCSPX-{a28}", "GOCSPX-name";
    "google-token", "ya29.", 0, r"ya29\.[A-Za-z0-9_-]{30,}", "ya29.a0{a120}", "ya29.txt";
    "google-refresh-token", "1//0", 0, r"1//0[A-Za-z0-9_-]{40,}", "1//0{a100}", "1//0.5";
    "github-token", "ghp_", 0, r"ghp_[A-Za-z0-9]{36,251}", "ghp_{a36}", "ghp_name";
    "github-token", "gho_", 0, r"gho_[A-Za-z0-9]{36,251}", "gho_{a36}", "gho_name";
    "github-token", "ghu_", 0, r"ghu_[A-Za-z0-9]{36,251}", "ghu_{a36}", "ghu_name";
    "github-token", "ghs_", 0, r"ghs_[A-Za-z0-9._-]{36,}", "ghs_{a36}", "ghs_name";
    "github-token", "ghr_", 0, r"ghr_[A-Za-z0-9]{36,251}", "ghr_{a36}", "ghr_name";
    "github-token", "github_pat_", 0, r"github_pat_[A-Za-z0-9]{20,}_[A-Za-z0-9]{30,}", "github_pat_11{u20}_{a59}", "github_pat_name";
    "gitlab-token", "glcbt-", 0, r"glcbt-[A-Za-z0-9_-]{20,}", "glcbt-64_{a20}", "glcbt-x";
    "gitlab-token", "gldt-", 0, r"gldt-[A-Za-z0-9_-]{20,}", "gldt-{a20}", "gldt-x";
    "gitlab-token", "glffct-", 0, r"glffct-[A-Za-z0-9_-]{20,}", "glffct-{a20}", "glffct-x";
    "gitlab-token", "glft-", 0, r"glft-[A-Za-z0-9_-]{20,}", "glft-{a20}", "glft-x";
    "gitlab-token", "glimt-", 0, r"glimt-[A-Za-z0-9_-]{25,}", "glimt-{a25}", "glimt-x";
    "gitlab-token", "glagent-", 0, r"glagent-[A-Za-z0-9_-]{50,}", "glagent-{a50}", "glagent-config";
    "gitlab-token", "gloas-", 0, r"gloas-[A-Za-z0-9_-]{64,}", "gloas-{a64}", "gloas-x";
    "gitlab-token", "glpat-", 0, r"glpat-[A-Za-z0-9_-]{20,}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,})?", "glpat-{a27}.01{l7}", "glpat-name";
    "gitlab-token", "glptt-", 0, r"glptt-[A-Za-z0-9_-]{20,}", "glptt-{x40}", "glptt-x";
    "gitlab-token", "glrt", 0, r"glrtr?-[A-Za-z0-9_-]{20,}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,})?", "glrt-{a20}", "glrt-x";
    "gitlab-token", "glsoat-", 0, r"glsoat-[A-Za-z0-9_-]{20,}", "glsoat-{a20}", "glsoat-x";
    "gitlab-token", "glwt-", 0, r"glwt-[A-Za-z0-9_-]{20,}", "glwt-{a20}", "glwt-x";
    "gitlab-token", "GR1348941", 0, r"GR1348941[A-Za-z0-9_-]{20}", "GR1348941{a20}", "GR1348941";
    "gitlab-cookie", "_gitlab_session=", 0, r"_gitlab_session=[0-9a-z]{32}", "_gitlab_session={x32}", "_gitlab_session=none";
    "grafana-key", "eyJrIjoi", 0, r"eyJrIjoi[A-Za-z0-9_-]{60,}={0,3}", "eyJrIjoi{a80}", "eyJrIjoiYQ==";
    "grafana-token", "glc_eyJ", 0, r"glc_eyJ[A-Za-z0-9+/]{32,}={0,3}", "glc_eyJv{a64}", "glc_eyJ";
    "grafana-token", "glsa_", 0, r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", "glsa_{a32}_{x8}", "glsa_name";
    "groq-key", "gsk_", 0, r"gsk_[A-Za-z0-9]{40,}", "gsk_{a52}", "gsk_scroll";
    "harness-token", "pat.", 0, r"pat\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}", "pat.{a22}.{a24}.{a20}", "pat.join.x.y";
    "harness-token", "sat.", 0, r"sat\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}", "sat.{a22}.{a24}.{a20}", "sat.sun.mon";
    "terraform-token", ".atlasv1.", 14, r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", "{a14}.atlasv1.{a67}", "x.atlasv1.y";
    "heroku-key", "HRKU-", 0, r"HRKU-[A-Za-z0-9_-]{36,}", "HRKU-AA{a58}", "HRKU-x";
    "huggingface-token", "hf_", 0, r"hf_[A-Za-z0-9]{34,40}", "hf_{t34}", "hf_hub_download";
    "huggingface-token", "api_org_", 0, r"api_org_[A-Za-z0-9]{34}", "api_org_{t34}", "api_org_name";
    "infracost-key", "ico-", 0, r"ico-[A-Za-z0-9]{32}", "ico-{a32}", "ico-file";
    "intra42-secret", "s-s4t2", 0, r"s-s4t2(?:ud|af)-[a-f0-9]{64}", "s-s4t2ud-{x64}", "s-s4t2ud-name";
    "jwt", "eyJ", 0, r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*", "eyJ{a33}.eyJ{a40}.{a43}", "eyJoin.map.js";
    "jwt", "eyJhbGciOi", 0, r"eyJhbGciOi[A-Za-z0-9_-]{8,}\.\.?[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*", "eyJhbGciOi{a20}.{a40}.{a43}", "eyJhbGciOi";
    "langsmith-key", "lsv2_", 0, r"lsv2_(?:pt|sk)_[A-Za-z0-9]{32}_[A-Za-z0-9]{10}", "lsv2_pt_{x32}_{x10}", "lsv2_pt_name";
    "linear-key", "lin_", 0, r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", "lin_api_{a40}", "lin_api_key";
    "mailchimp-key", "-us", 32, r"[a-f0-9]{32}-us[0-9]{1,2}", "{x32}-us12", "region-us12";
    "mailgun-key", "key-", 0, r"key-[a-f0-9]{32}", "key-{x32}", "key-value";
    "mapbox-token", "sk.eyJ", 0, r"sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}", "sk.eyJ1{a60}.{a22}", "sk.eyJ";
    "maxmind-key", "_mmk", 36, r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", "{a6}_{a29}_mmk", "the_mmk";
    "mistral-key", "mistral_", 0, r"mistral_[A-Za-z0-9]{32,}", "mistral_{a32}", "mistral_large";
    "newrelic-key", "NRAK-", 0, r"NRAK-[A-Za-z0-9]{27}", "NRAK-{u27}", "NRAK-x";
    "newrelic-key", "NRII-", 0, r"NRII-[A-Za-z0-9_-]{32}", "NRII-{a32}", "NRII-x";
    "newrelic-key", "NRJS-", 0, r"NRJS-[a-f0-9]{19}", "NRJS-{x19}", "NRJS-x";
    "newrelic-key", "NRAL", 36, r"[a-f0-9]{36}NRAL", "{x36}NRAL", "the NRAL file";
    "notion-token", "ntn_", 0, r"ntn_[A-Za-z0-9]{40,}", "ntn_{d11}{a35}", "ntn_name";
    "npm-token", "npm_", 0, r"npm_[A-Za-z0-9]{36}", "npm_{a36}", "npm_config_registry";
    "nvidia-key", "nvapi-", 0, r"nvapi-[A-Za-z0-9_-]{60,}", "nvapi-{a64}", "nvapi-x";
    "octopus-key", "API-", 0, r"API-[A-Z0-9]{26,}", "API-{u26}", "API-REFERENCE";
    "okta-token", "00", 0, r"00[A-Za-z0-9_-]{39}[A-Za-z0-9]+okta", "00{a40}okta", "00okta";
    "openai-key", "sk-", 0, r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,}", "sk-proj-{a74}T3BlbkFJ{a74}", "sk-project-name";
    "openai-key", "sk-", 0, r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}", "sk-{a20}T3BlbkFJ{a20}", "sk-learn";
    "openrouter-key", "sk-or-", 0, r"sk-or-(?:v1-)?[A-Fa-f0-9]{40,}", "sk-or-v1-{x64}", "sk-or-v1-model";
    "api-key", "sk-", 0, r"sk-[A-Za-z0-9]{32,}", "sk-{a48}", "sk-SK_sk";
    "openshift-token", "sha256~", 0, r"sha256~[A-Za-z0-9_-]{43}", "sha256~{a43}", "sha256~name";
    "perplexity-key", "pplx-", 0, r"pplx-[A-Za-z0-9]{40,}", "pplx-{a48}", "pplx-7b-online";
    "planetscale-token", "pscale_", 0, r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{32,}", "pscale_tkn_{a43}", "pscale_tkn_name";
    "posthog-key", "ph", 0, r"ph[cx]_[A-Za-z0-9]{40,}", "phx_{a43}", "phx_new";
    "postman-key", "PMAK-", 0, r"PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}", "PMAK-{x24}-{x34}", "PMAK-x";
    "prefect-key", "pnu_", 0, r"pnu_[A-Za-z0-9]{36}", "pnu_{a36}", "pnu_name";
    "prefect-key", "pnb_", 0, r"pnb_[A-Za-z0-9]{36}", "pnb_{a36}", "pnb_name";
    "pulumi-token", "pul-", 0, r"pul-[a-f0-9]{40}", "pul-{x40}", "pul-request";
    "pypi-token", "pypi-", 0, r"pypi-[A-Za-z0-9_-]{50,}", "pypi-AgEIcHlwaS5vcmc{a150}", "pypi-simple-index-client";
    "rapyd-key", "rak_", 0, r"rak_[A-Fa-f0-9]{20,}", "rak_{x24}", "rak_name";
    "readme-token", "rdme_", 0, r"rdme_[A-Za-z0-9]{70}", "rdme_{l70}", "rdme_file";
    "replicate-token", "r8_", 0, r"r8_[A-Za-z0-9]{37}", "r8_{a37}", "r8_unorm";
    "resend-key", "re_", 0, r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", "re_{a8}_{a24}", "re_compile_pattern";
    "rubygems-key", "rubygems_", 0, r"rubygems_[a-f0-9]{48}", "rubygems_{x48}", "rubygems_version";
    "scalingo-token", "tk-us-", 0, r"tk-us-[A-Za-z0-9_-]{48}", "tk-us-{a48}", "tk-us-east";
    "sendgrid-key", "SG.", 0, r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_=-]{32,64}", "SG.{a22}.{a43}", "SG.name.x";
    "brevo-key", "xkeysib-", 0, r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", "xkeysib-{x64}-{a16}", "xkeysib-name";
    "brevo-key", "xsmtpsib-", 0, r"xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}", "xsmtpsib-{x64}-{a16}", "xsmtpsib-name";
    "sentry-token", "sntry", 0, r"sntry[a-z]_[A-Za-z0-9+/=_-]{40,}", "sntryu_{x64}", "sntryu_name";
    "settlemint-token", "sm_", 0, r"sm_(?:pat|aat|sat)_[A-Za-z0-9]{16}", "sm_pat_{a16}", "sm_pat_name";
    "shippo-token", "shippo_", 0, r"shippo_(?:live|test)_[A-Fa-f0-9]{40}", "shippo_test_{x40}", "shippo_test_x";
    "shopify-token", "shp", 0, r"shp(?:at|ca|pa|ss|ua|tka)_[A-Fa-f0-9]{32}", "shpat_{x32}", "shpat_name";
    "slack-token", "xapp-", 0, r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[A-Za-z0-9]+", "xapp-1-A{u10}-{d13}-{l64}", "xapp-1-name";
    "slack-token", "xox", 0, r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{20,}", "xoxb-{d12}-{d13}-{a24}", "xoxb-name";
    "slack-cookie", "xoxd-", 0, r"xoxd-[A-Za-z0-9%+/=_-]{40,}", "xoxd-{a80}", "xoxd-name";
    "slack-token", "xwfp-", 0, r"xwfp-[A-Za-z0-9-]{20,}", "xwfp-{a30}", "xwfp-name";
    "teams-webhook", ".webhook.office.com/", 0, r"\.webhook\.office\.com/webhookb?2?/[A-Za-z0-9@/+_-]{40,}", ".webhook.office.com/webhookb2/{x8}-{x4}-{x4}-{x4}-{x12}@{x8}/IncomingWebhook/{x32}/{x36}", ".webhook.office.com/docs";
    "slack-webhook", "hooks.slack.com/", 8, r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}", "https://hooks.slack.com/services/T{u8}/B{u10}/{a24}", "https://hooks.slack.com/docs";
    "discord-webhook", "/api/webhooks/", 19, r"https://discord\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{40,}", "https://discord.com/api/webhooks/{d18}/{a68}", "https://discord.com/api/webhooks/guide";
    "discord-webhook", "/api/webhooks/", 22, r"https://discordapp\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{40,}", "https://discordapp.com/api/webhooks/{d18}/{a68}", "https://discordapp.com/api/webhooks/guide";
    "teams-webhook", "/IncomingWebhook/", 0, r"/IncomingWebhook/[a-f0-9]{32}/[a-f0-9-]{36}(?:/[A-Za-z0-9_-]+)?", "/IncomingWebhook/{x32}/{x8}-{x4}-{x4}-{x4}-{x12}", "/IncomingWebhook/docs";
    "teams-webhook", "/webhookb2/", 0, r"/webhookb2/[a-f0-9@-]{36,80}/IncomingWebhook/[a-f0-9]{32}/[a-f0-9-]{36}(?:/[A-Za-z0-9_-]+)?", "/webhookb2/{x8}-{x4}-{x4}-{x4}-{x12}@{x8}-{x4}-{x4}-{x4}-{x12}/IncomingWebhook/{x32}/{x8}-{x4}-{x4}-{x4}-{x12}", "/webhookb2/docs";
    "snyk-token", "snyk_", 0, r"snyk_(?:uat|sat)\.[a-f0-9]{8}\.[A-Za-z0-9_.-]{40,}", "snyk_uat.{x8}.{a60}", "snyk_uat.name";
    "sonar-token", "sq", 0, r"sq[upa]_[a-f0-9]{40}", "squ_{x40}", "squ_name";
    "sourcegraph-token", "sgp_", 0, r"sgp_(?:(?:[A-Fa-f0-9]{16}|local)_)?[A-Fa-f0-9]{40}", "sgp_{x16}_{x40}", "sgp_name";
    "square-token", "sq0", 0, r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}", "sq0atp-{a22}", "sq0atp-name";
    "square-token", "EAAA", 0, r"EAAA[A-Za-z0-9_+=-]{56,}", "EAAA{a60}", "EAAAll";
    "stripe-key", "sk_", 0, r"sk_(?:live|test|prod)_[A-Za-z0-9]{10,}", "sk_live_{a24}", "sk_live_key";
    "stripe-key", "rk_", 0, r"rk_(?:live|test|prod)_[A-Za-z0-9]{10,}", "rk_test_{a24}", "rk_test_key";
    "stripe-webhook-secret", "whsec_", 0, r"whsec_[A-Za-z0-9+/=]{24,}", "whsec_{a32}", "whsec_name";
    "supabase-token", "sbp_", 0, r"sbp_[a-f0-9]{40}", "sbp_{x40}", "sbp_name";
    "supabase-key", "sb_secret_", 0, r"sb_secret_[A-Za-z0-9_-]{22,}", "sb_secret_{a32}", "sb_secret_name";
    "tailscale-key", "tskey-", 0, r"tskey-(?:[a-z]+-)?[A-Za-z0-9]{6,}(?:CNTRL)?-[A-Za-z0-9]{20,}", "tskey-auth-k{a11}CNTRL-{a32}", "tskey-auth-name";
    "telegram-token", ":AA", 10, r"[0-9]{10}:AA[A-Za-z0-9_-]{32,34}", "{d10}:AAE{a32}", "1234567890:AAB";
    "telegram-token", ":AA", 9, r"[0-9]{9}:AA[A-Za-z0-9_-]{32,34}", "{d9}:AAE{a32}", "123456789:AAB";
    "telegram-token", ":AA", 8, r"[0-9]{8}:AA[A-Za-z0-9_-]{32,34}", "{d8}:AAE{a32}", "12345678:AAB";
    "discord-token", ".", 26, r"[MNO][A-Za-z0-9_-]{25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}", "MT{a24}.G{a5}.{a38}", "MTA.b.c";
    "discord-token", ".", 24, r"[MNO][A-Za-z0-9_-]{23}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}", "MT{a22}.G{a5}.{a38}", "MTA.b.c";
    "twilio-key", "SK", 0, r"SK[a-f0-9]{32}", "SK{x32}", "SKIPPED";
    "typeform-token", "tfp_", 0, r"tfp_[A-Za-z0-9_.=-]{40,}", "tfp_{a59}", "tfp_name";
    "vault-token", "hvs.", 0, r"hvs\.[A-Za-z0-9_-]{24,}", "hvs.{a95}", "hvs.name";
    "vault-token", "hvb.", 0, r"hvb\.[A-Za-z0-9_-]{24,}", "hvb.{a150}", "hvb.name";
    "vault-token", "hvr.", 0, r"hvr\.[A-Za-z0-9_-]{24,}", "hvr.{a95}", "hvr.name";
    "atlassian-token", "ATATT3", 0, r"ATATT3[A-Za-z0-9_=-]{60,}", "ATATT3xFfGF0{a160}={x8}", "ATATT3x";
    "atlassian-token", "ATCTT3", 0, r"ATCTT3[A-Za-z0-9_=-]{60,}", "ATCTT3xFfGN0{a160}={x8}", "ATCTT3x";
    "bitbucket-password", "ATBB", 0, r"ATBB[A-Za-z0-9_=.-]{32,}", "ATBB{a32}", "ATBBx";
    "xai-key", "xai-", 0, r"xai-[A-Za-z0-9_]{70,}", "xai-{a80}", "xai-grok";
    "yandex-key", "AQVN", 0, r"AQVN[A-Za-z0-9_-]{35,38}", "AQVN{a36}", "AQVN";
    "yandex-token", "y0_", 0, r"y0_[A-Za-z0-9_-]{40,}", "y0_{a55}", "y0_axis";
    "zapier-webhook", "hooks.zapier.com/", 8, r"https://hooks\.zapier\.com/hooks/[A-Za-z0-9+/_-]{10,}", "https://hooks.zapier.com/hooks/catch/{d7}/{l7}/", "https://hooks.zapier.com/docs";
    "openssh-key", "b3BlbnNzaC1rZXktdjE", 0, r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=]{40,}", "b3BlbnNzaC1rZXktdjE{a200}", "b3BlbnNzaC1rZXktdjE";
    "password-hash", "$1$", 0, r"\$1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}", "$1${a8}${a22}", "$1$x";
    "password-hash", "$2", 0, r"\$2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}", "$2b$12${a53}", "$2b$x";
    "password-hash", "$5$", 0, r"\$5\$(?:rounds=[0-9]+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43}", "$5${a16}${a43}", "$5$x";
    "password-hash", "$6$", 0, r"\$6\$(?:rounds=[0-9]+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{86}", "$6${a16}${a86}", "$6$x";
    "password-hash", "$y$", 0, r"\$y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}", "$y$j9T${a22}${a43}", "$y$x";
    "password-hash", "$gy$", 0, r"\$gy\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}", "$gy$j9T${a22}${a43}", "$gy$x";
    "password-hash", "$7$", 0, r"\$7\$[./A-Za-z0-9]{11,97}\$[./A-Za-z0-9]{43}", "$7${a14}${a43}", "$7$x";
    "password-hash", "$apr1$", 0, r"\$apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}", "$apr1${a8}${a22}", "$apr1$x";
    "password-hash", "$argon2", 0, r"\$argon2(?:id|i|d)\$(?:v=[0-9]+\$)?[a-z0-9=,]+\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}", "$argon2id$v=19$m=65536,t=3,p=4${a22}${a43}", "$argon2id$x";
    "password-hash", "$scrypt$", 0, r"\$scrypt\$[a-z0-9=,]+\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}", "$scrypt$ln=16,r=8,p=1${a22}${a43}", "$scrypt$x";
    "password-hash", "$pbkdf2", 0, r"\$pbkdf2(?:-sha[0-9]+)?\$[a-z0-9=,]+\$[A-Za-z0-9+/.]{8,}\$[A-Za-z0-9+/.]{16,}", "$pbkdf2-sha256$29000${a22}${a43}", "$pbkdf2$x";
    "password-hash", "pbkdf2_sha", 0, r"pbkdf2_sha(?:1|256|512)\$[0-9]+\$[A-Za-z0-9]+\$[A-Za-z0-9+/]{27,}={0,2}", "pbkdf2_sha256$600000${a22}${a43}", "pbkdf2_sha256";
    "password-hash", "SHA}", 2, r"\{SSHA\}[A-Za-z0-9+/]{28,}={0,2}", "{SSHA}{a38}==", "{SSHA}";
    "password-hash", "{SHA}", 0, r"\{SHA\}[A-Za-z0-9+/]{27}=", "{SHA}{a27}=", "{SHA}";
    "password-hash", "SCRAM-SHA-256$", 0, r"SCRAM-SHA-256\$[0-9]+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+", "SCRAM-SHA-256$4096:{a22}==${a43}=:{a43}=", "SCRAM-SHA-256";
}

/// Every credential by shape in `line`.
pub fn find(line: &[u8], out: &mut Spans) {
    let mut free = 0;
    for mark in marks().find_overlapping_iter(line) {
        let row = mark.pattern().as_usize();
        let token = &TOKENS[row];
        let Some(start) = mark.start().checked_sub(token.before) else { continue };
        let within = start.checked_sub(1).is_some_and(|at| line[at].is_ascii_alphanumeric());
        if start < free || (within && line[start].is_ascii_alphanumeric()) {
            continue;
        }
        if !is_long_enough(&line[start..]) {
            continue;
        }
        let window = &line[start..line.len().min(start + WINDOW_BYTES)];
        let Some(found) = pattern(row).find(window) else { continue };
        let mut end = start + found.end();
        if found.end() == WINDOW_BYTES {
            end += line[end..].iter().take_while(|&&byte| is_token_byte(byte)).count();
        }
        if line.get(end).is_some_and(|&byte| byte.is_ascii_alphanumeric()) || !varied(&line[start..end]) {
            continue;
        }
        out.push(start, end, Kind(token.kind));
        free = end;
    }
}

/// No credential is shorter than this or has a blank in it; most marks stand in ordinary words.
const TOKEN_BYTES_MIN: usize = 16;

fn is_long_enough(text: &[u8]) -> bool {
    text.len() >= TOKEN_BYTES_MIN
        && !text[..TOKEN_BYTES_MIN]
            .iter()
            .any(|b| matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'(' | b')' | b'<' | b'>' | b';'))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.~".contains(&byte)
}

/// A run of one character is a placeholder, not a credential.
fn varied(text: &[u8]) -> bool {
    let tail = &text[text.len() / 2..];
    tail.iter().any(|byte| *byte != tail[0])
}

fn marks() -> &'static AhoCorasick {
    static MARKS: OnceLock<AhoCorasick> = OnceLock::new();
    MARKS.get_or_init(|| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(TOKENS.iter().map(|token| token.mark))
            .expect("the table's marks are few and short")
    })
}

fn pattern(row: usize) -> &'static Regex {
    static PATTERNS: [OnceLock<Regex>; TOKENS.len()] = [const { OnceLock::new() }; TOKENS.len()];
    PATTERNS[row].get_or_init(|| {
        RegexBuilder::new(&format!(r"\A(?:{})", TOKENS[row].shape))
            .unicode(false)
            .build()
            .expect("a row of the table compiles; its test runs each")
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fills `{a36}` and kin with varied characters; the same seed gives the same text.
    pub fn fill(template: &str, seed: u64) -> String {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut out = String::new();
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            let field = &rest[open + 1..];
            let width = field.get(1..field.find('}').unwrap_or(0)).and_then(|n| n.parse::<usize>().ok());
            let set = match field.as_bytes().first() {
                Some(b'a') => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                Some(b'u') => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                Some(b'l') => "abcdefgh0123456789",
                Some(b'x') => "0123456789abcdef",
                Some(b'd') => "0123456789",
                Some(b't') => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                _ => "",
            };
            let (Some(width), false) = (width, set.is_empty()) else {
                out.push_str(&rest[..=open]);
                rest = field;
                continue;
            };
            out.push_str(&rest[..open]);
            for _ in 0..width {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                out.push(char::from(set.as_bytes()[(state % set.len() as u64) as usize]));
            }
            rest = &field[field.find('}').unwrap_or(0) + 1..];
        }
        out + rest
    }

    fn spans(text: &str) -> Spans {
        let mut out = Spans::default();
        find(text.as_bytes(), &mut out);
        out
    }

    #[test]
    fn each_row_hides_its_example_whole_and_leaves_its_neighbour() {
        for (row, token) in TOKENS.iter().enumerate() {
            for seed in 1..20 {
                let secret = fill(token.hidden, seed * 131 + row as u64);
                for text in [secret.clone(), format!("say \"{secret}\", ok"), format!("x={secret}")] {
                    let found = spans(&text);
                    let at = text.find(&secret).unwrap();
                    let whole = found.0.iter().any(|&(from, to, _)| from <= at && at + secret.len() <= to);
                    assert!(whole, "row {row} {}: {text}: {found:?}", token.kind);
                }
            }
            assert!(spans(token.stays).is_empty(), "{}: {}", token.kind, token.stays);
        }
    }

    #[test]
    fn what_only_looks_random_is_no_token() {
        for template in ["commit {x40}", "sha256:{x64}", "{x8}-{x4}-{x4}-{x4}-{x12}", "h1:{a43}=", "{x32}  f.iso"] {
            for seed in 1..200 {
                let text = fill(template, seed);
                assert!(spans(&text).is_empty(), "{text}");
            }
        }
    }
}
