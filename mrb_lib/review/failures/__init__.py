"""Cases on which judges fail: kinds of failure, a reviewer's queries, and the lists behind figures."""
