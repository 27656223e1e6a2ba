"""What the table `selective` is made with until it is ported."""
