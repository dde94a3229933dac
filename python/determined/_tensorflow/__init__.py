"""What the families on TensorFlow share. Importing this package imports nothing of TensorFlow; its modules do."""
