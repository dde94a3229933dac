"""Code shared by all TensorFlow trials. The package itself does not import TensorFlow; its modules do."""
