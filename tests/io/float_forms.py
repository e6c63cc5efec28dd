"""Float formats by their fields, and the exact values of their bytes, independent of the product.
"""
import fractions

import h5py

FLOATS = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


class Form:
    """Float format by its fields; positions count from the lowest bit."""

    def __init__(self, size, sign, exponent, exponent_bits, mantissa, mantissa_bits, bias,
                 norm=h5py.h5t.NORM_IMPLIED, big=False):
        self.size, self.big, self.sign = size, big, sign
        self.exponent, self.exponent_bits, self.bias = exponent, exponent_bits, bias
        self.mantissa, self.mantissa_bits, self.norm = mantissa, mantissa_bits, norm

    def type(self):
        """Returns the HDF5 type; its setters require fields within the current precision."""
        made = h5py.h5t.IEEE_F64LE.copy()
        if self.size > 8:
            made.set_size(self.size)
            made.set_precision(8 * self.size)
        made.set_fields(self.sign, self.exponent, self.exponent_bits, self.mantissa,
                        self.mantissa_bits)
        if self.size < 8:
            made.set_precision(8 * self.size)
            made.set_size(self.size)
        made.set_ebias(self.bias)
        made.set_norm(self.norm)
        made.set_order(h5py.h5t.ORDER_BE if self.big else h5py.h5t.ORDER_LE)
        return made

    def value(self, word):
        """Returns (negative, Fraction or "inf" or "nan")."""
        exponent = word >> self.exponent & (1 << self.exponent_bits) - 1
        mantissa = word >> self.mantissa & (1 << self.mantissa_bits) - 1
        implied = self.norm == h5py.h5t.NORM_IMPLIED
        fraction_bits = self.mantissa_bits if implied else self.mantissa_bits - 1
        negative = bool(word >> self.sign & 1)
        if exponent == (1 << self.exponent_bits) - 1:
            return negative, "nan" if mantissa & (1 << fraction_bits) - 1 else "inf"
        if implied and exponent > 0:
            mantissa |= 1 << fraction_bits
        power = max(exponent, 1) - self.bias - fraction_bits
        return negative, fractions.Fraction(mantissa) * fractions.Fraction(2)**power

    def converted(self, word, target):
        """Returns the bits in a format of numpy; None if infinite, or for a signalling NaN of
        unchanged width, which is copied rather than made quiet."""
        negative, value = self.value(word)
        if value != "nan":
            return rounded(negative, value, target)
        mantissa_bits = {"f16": 10, "f32": 23, "f64": 52}[target]
        fraction_bits = self.mantissa_bits - (self.norm != h5py.h5t.NORM_IMPLIED)
        payload = word >> self.mantissa & (1 << fraction_bits) - 1
        is_quiet = payload >> fraction_bits - 1
        if not is_quiet and self.size == int(FLOATS[target][2]):
            return None
        kept = payload << mantissa_bits >> fraction_bits
        return rounded(negative, "inf", target) | kept | 1 << mantissa_bits - 1

    def bytes(self, word):
        return word.to_bytes(self.size, "big" if self.big else "little")

    def draw(self, rng):
        """Returns random bits, or a value near the limits, ties or subnormals of f64, f32 or f16.
        """
        word = rng.getrandbits(8 * self.size)
        if rng.random() < 0.75:
            near = rng.choice((0, 1, -1, 0, 127, 128, -126, -127, -149, -150, 15, 16, -14, -25,
                               1023, 1024, -1022, -1074, -1075))
            exponent = min(max(near + rng.randint(-1, 1) + self.bias, 0),
                           (1 << self.exponent_bits) - 1)
            word &= ~(((1 << self.exponent_bits) - 1) << self.exponent)
            word |= exponent << self.exponent
        if rng.random() < 0.6:  # few significant bits: ties and exact values
            kept, whole = rng.randint(0, self.mantissa_bits), (1 << self.mantissa_bits) - 1
            bits = rng.choice((0, whole)) if rng.random() < 0.5 else word >> self.mantissa & whole
            bits = bits >> (self.mantissa_bits - kept) << (self.mantissa_bits - kept)
            bits |= rng.choice(
                (0, 1 << self.mantissa_bits - 1, 1 << max(self.mantissa_bits - kept - 1, 0)))
            word = word & ~(whole << self.mantissa) | bits << self.mantissa
        return word


def ieee(size, exponent_bits, mantissa_bits, big):
    return Form(size, exponent_bits + mantissa_bits, mantissa_bits, exponent_bits, 0, mantissa_bits,
                (1 << exponent_bits - 1) - 1, big=big)


def random_form(rng):
    """Returns a random format: the three fields in any order, with gaps."""
    size, big = rng.choice((1, 2, 2, 3, 4, 5, 6, 8, 10, 12, 16)), rng.random() < 0.5
    exponent_bits = rng.randint(2, min(11, 8 * size - 4))
    mantissa_bits = rng.randint(2, min(110, 8 * size - 1 - exponent_bits))
    room, at, places = 8 * size - 1 - exponent_bits - mantissa_bits, 0, {}
    for field, bits in rng.sample(
        (("sign", 1), ("exponent", exponent_bits), ("mantissa", mantissa_bits)), 3):
        gap = rng.randint(0, room)
        room, at = room - gap, at + gap
        places[field] = at
        at += bits
    bias = max(0, (1 << exponent_bits - 1) - 1 + rng.choice((0, 0, 0, 1, -1, 5)))
    return Form(size, places["sign"], places["exponent"], exponent_bits, places["mantissa"],
                mantissa_bits, bias,
                rng.choice((h5py.h5t.NORM_IMPLIED, h5py.h5t.NORM_IMPLIED, h5py.h5t.NORM_NONE)), big)


def rounded(negative, value, target):
    """Rounds a value to a format of numpy, to nearest, ties to even; None if the result is
    infinite."""
    mantissa_bits, bias = {"f16": (10, 15), "f32": (23, 127), "f64": (52, 1023)}[target]
    size = 8 * int(FLOATS[target][2])
    sign, infinity = int(negative) << size - 1, (2 * bias + 1) << mantissa_bits
    if value == "inf":
        return sign | infinity
    if value == 0:
        return sign
    top = value.numerator.bit_length() - value.denominator.bit_length()
    if fractions.Fraction(2)**top > value:
        top -= 1
    unit = max(top, 1 - bias) - mantissa_bits
    scaled = value / fractions.Fraction(2)**unit
    digits = round(scaled)  # ties to even
    bits = digits + (max(top, 1 - bias) - (1 - bias) << mantissa_bits)
    return None if bits >= infinity else sign | bits
