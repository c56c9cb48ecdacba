//! Collects the body of a request in one buffer.
//!
//! A client decides into how many pieces it divides a body. Each piece is copied and dropped, so that a body takes
//! the memory of its bytes, and not of its pieces and of the buffers in which they arrived.

use std::pin::pin;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;

/// Size of the first buffer of a body whose length is not known, in bytes.
const FIRST: usize = 4 * 1024;

/// Reason why a body is not collected.
#[derive(Debug)]
pub(crate) enum Ungathered<E> {
    /// It has more bytes than it may have.
    TooLong,
    Broken(E),
}

/// Returns a body of at most `most` bytes. The buffer never has more, however many pieces arrive.
pub(crate) async fn gathered<B: Body<Data = Bytes>>(
    body: B,
    most: usize,
) -> Result<Vec<u8>, Ungathered<B::Error>> {
    let mut body = pin!(body);
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        // The other frames are trailers, which say nothing to this server.
        let Ok(piece) = frame.map_err(Ungathered::Broken)?.into_data() else { continue };
        if piece.len() > most - all.len() {
            return Err(Ungathered::TooLong);
        }
        grow(&mut all, piece.len(), most);
        all.extend_from_slice(&piece);
    }
    all.shrink_to_fit();
    Ok(all)
}

/// Reserves room for a piece: twice as much as before, and never more than `most` in all.
fn grow(all: &mut Vec<u8>, piece: usize, most: usize) {
    let needed = all.len() + piece;
    if needed > all.capacity() {
        let capacity = needed.max(all.capacity() * 2).max(FIRST).min(most);
        all.reserve_exact(capacity - all.len());
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use hyper::HeaderMap;
    use hyper::body::Frame;

    use super::*;

    /// A body in pieces, which counts those that are held.
    struct Pieces {
        sizes: Vec<usize>,
        held: Arc<AtomicUsize>,
        most_held: Arc<AtomicUsize>,
    }

    struct Piece(Vec<u8>, Arc<AtomicUsize>);

    impl AsRef<[u8]> for Piece {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Piece {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::Relaxed);
        }
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(size) = self.sizes.pop() else { return Poll::Ready(None) };
            if size == 0 {
                return Poll::Ready(Some(Ok(Frame::trailers(HeaderMap::new()))));
            }
            let held = self.held.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_held.fetch_max(held, Ordering::Relaxed);
            let piece = Bytes::from_owner(Piece(vec![b'x'; size], Arc::clone(&self.held)));
            Poll::Ready(Some(Ok(Frame::data(piece))))
        }
    }

    fn pieces(sizes: Vec<usize>) -> (Pieces, Arc<AtomicUsize>) {
        let most_held = Arc::default();
        (Pieces { sizes, held: Arc::default(), most_held: Arc::clone(&most_held) }, most_held)
    }

    #[tokio::test]
    async fn a_body_holds_none_of_its_pieces_and_its_buffer_is_not_larger_than_it_may_be() {
        let (body, most_held) = pieces(vec![1; 5000]);
        let all = gathered(body, 5000).await.expect("a body");
        assert_eq!((all.len(), all.capacity()), (5000, 5000));
        assert_eq!(most_held.load(Ordering::Relaxed), 1, "the pieces before are dropped");

        for sizes in [vec![], vec![0], vec![3, 0], vec![0, 3000, 2000], vec![10_000]] {
            let length = sizes.iter().sum();
            let all = gathered(pieces(sizes).0, 10_000).await.expect("a body");
            assert_eq!((all.len(), all.capacity()), (length, length));
        }
        for sizes in [vec![10_001], vec![1, 10_000], vec![1; 10_001]] {
            let refused = gathered(pieces(sizes).0, 10_000).await;
            assert!(matches!(refused, Err(Ungathered::TooLong)));
        }
    }

    #[test]
    fn a_buffer_grows_with_its_bytes_up_to_its_limit() {
        let mut all = Vec::new();
        let mut sizes = Vec::new();
        for _ in 0..10_000 {
            grow(&mut all, 1, 10_000);
            all.push(b'x');
            sizes.push(all.capacity());
        }
        sizes.dedup();
        assert_eq!(sizes, [FIRST, 2 * FIRST, 10_000]);
    }
}
