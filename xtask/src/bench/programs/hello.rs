//! The smallest process that says something: nothing can be quicker to start.

fn main() {
    println!("hello, world");
}
