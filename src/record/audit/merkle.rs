//! What one number stands for all lines up to here? The root of the tree of RFC 6962 over the lines, kept as its right
//! edge: the roots of the full trees it is made of, the largest first.

use crate::facts::Digest;
use crate::facts::digest::Hasher;

/// A tree that lines are added to; `Clone` is cheap (at most 64 digests).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    edge: Vec<Digest>,
}

fn leaf(line: &[u8]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[0]);
    hasher.update(line);
    hasher.finish()
}

fn node(left: Digest, right: Digest) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    hasher.finish()
}

impl Tree {
    /// Of no lines.
    pub const EMPTY: Tree = Tree { size: 0, edge: Vec::new() };

    /// How many lines it holds.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds the next line, without its line end.
    pub fn push(&mut self, line: &[u8]) {
        let mut root = leaf(line);
        // Every full tree as large as the one that just got full joins it.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.edge.pop() {
                root = node(left, root);
            }
        }
        self.edge.push(root);
        self.size += 1;
    }

    pub fn root(&self) -> Digest {
        let mut roots = self.edge.iter().rev();
        match roots.next() {
            None => Digest::of(b""),
            Some(&last) => roots.fold(last, |right, &left| node(left, right)),
        }
    }

    /// The right edge as text: digests separated by spaces.
    pub fn edge(&self) -> String {
        self.edge.iter().map(Digest::to_string).collect::<Vec<_>>().join(" ")
    }

    /// The tree with this right edge; `None` where it is no edge of a tree of this size.
    pub fn from_edge(size: u64, edge: &str) -> Option<Tree> {
        let edge: Vec<Digest> = edge.split_ascii_whitespace().map(Digest::parse).collect::<Option<_>>()?;
        (edge.len() == size.count_ones() as usize).then_some(Tree { size, edge })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the RFC defines it, from the top.
    fn defined(lines: &[String]) -> Digest {
        match lines {
            [] => Digest::of(b""),
            [line] => leaf(line.as_bytes()),
            _ => {
                let k = 1 << (lines.len() - 1).ilog2();
                node(defined(&lines[..k]), defined(&lines[k..]))
            }
        }
    }

    #[test]
    fn the_root_is_the_one_of_the_rfc_for_every_size() {
        let lines: Vec<String> = (0..130).map(|n| format!("line {n}")).collect();
        let mut tree = Tree::EMPTY;
        for n in 0..lines.len() {
            assert_eq!(tree.root(), defined(&lines[..n]), "{n}");
            assert_eq!(Tree::from_edge(tree.size(), &tree.edge()), Some(tree.clone()));
            tree.push(lines[n].as_bytes());
        }
    }

    #[test]
    fn the_roots_of_known_trees_are_known() {
        // The test vectors that implementations of the RFC share.
        let mut tree = Tree::EMPTY;
        assert_eq!(tree.root().to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        tree.push(b"");
        assert_eq!(tree.root().to_string(), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
        tree.push(b"\x00");
        assert_eq!(tree.root().to_string(), "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
    }
}
