"""make_input.py FOLDER SPECTRA CHANNELS: the input of the main job, gamma-ray spectra and a
detector's response.

spectra.h5:/counts      SPECTRA x CHANNELS, 32-bit integers, chunked, gzip: counts of an ideal
                        detector by channel (1.5 keV each at 2048): Poisson counts of the lines of
                        K-40, Cs-137 and Co-60 and of natural radium, in mixtures that differ from
                        row to row, on a falling background.
response.h5:/smearing   CHANNELS x CHANNELS, f32: the probability that a quantum of one channel is
                        counted in another, for a scintillator whose resolution is 7 % at 662 keV
                        and proportional to the square root of the energy.

Their product is the counts of the real detector. Every row of the response adds up to 1, so that a
row of the product holds as many counts as the row of the spectra: a check that is independent of
the computation.
"""
import os
import sys

import h5py
import numpy as np

LINES = {  # keV: quanta per decay (rounded)
    "K-40": {1461: 0.11},
    "Cs-137": {662: 0.85},
    "Co-60": {1173: 1.0, 1332: 1.0},
    "Ra-226": {186: 0.04, 295: 0.18, 352: 0.36, 609: 0.45, 1120: 0.15, 1765: 0.15, 2204: 0.05},
}


def spectra(count, energy, rng):
    ideal = np.zeros((len(LINES), energy.size))
    for nuclide, lines in zip(ideal, LINES.values()):
        for kev, quanta in lines.items():
            nuclide[np.argmin(abs(energy - kev))] += quanta
    activity = rng.lognormal(6.0, 1.5, (count, len(LINES)))
    background = np.exp(-energy / 400.0) * 3.0
    return rng.poisson(activity @ ideal + background).astype(np.int32)


def response(energy):
    width = 0.07 * 662 / 2.355 * np.sqrt(np.maximum(energy, 20.0) / 662)
    matrix = np.exp(-0.5 * ((energy[None, :] - energy[:, None]) / width[:, None]) ** 2)
    return (matrix / matrix.sum(axis=1, keepdims=True)).astype(np.float32)


def write(path, name, data, about, **storage):
    partial = path + ".partial"
    with h5py.File(partial, "w") as file:
        dataset = file.create_dataset(name, data=data, **storage)
        dataset.attrs["long_name"] = about
    os.replace(partial, path)


def has_shape(path, name, shape):
    try:
        with h5py.File(path, "r") as file:
            return file[name].shape == shape
    except (OSError, KeyError):
        return False


def main():
    folder, count, channels = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    energy = (np.arange(channels) + 0.5) * 3072.0 / channels
    os.makedirs(folder, exist_ok=True)
    counts, smearing = os.path.join(folder, "spectra.h5"), os.path.join(folder, "response.h5")
    if not has_shape(counts, "counts", (count, channels)):
        write(counts, "counts", spectra(count, energy, np.random.default_rng(1)),
              "ideal gamma-ray spectra, counts",
              chunks=(min(count, 128), min(channels, 512)), compression="gzip", compression_opts=1,
              shuffle=True)
    if not has_shape(smearing, "smearing", (channels, channels)):
        write(smearing, "smearing", response(energy),
              "response of a scintillation detector, rows add up to 1")


if __name__ == "__main__":
    main()
