"""Word, PowerPoint and Excel (ECMA-376), and OpenDocument."""
