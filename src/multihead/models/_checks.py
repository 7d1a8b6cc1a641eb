"""Checks of sizes that the settings of several models share."""


def check_heads(d_model: int, num_heads: int, d_k: int = 0, num_kv_heads: int = 0) -> None:
    """Raise ``ValueError`` unless heads have whole widths and share keys and values in equal groups."""
    if not d_k and d_model % num_heads:
        fact = f"d_model {d_model} is not a multiple of num_heads {num_heads}"
        raise ValueError(f"{fact}; change one or set d_k")
    if num_kv_heads and num_heads % num_kv_heads:
        raise ValueError(f"num_heads {num_heads} is not a multiple of num_kv_heads {num_kv_heads}")


def check_patches(image_size: int, patch_size: int) -> None:
    """Raise ``ValueError`` unless an image has a whole number of patches in each direction."""
    if image_size % patch_size:
        raise ValueError(f"image_size {image_size} is not a multiple of patch_size {patch_size}")
