"""Files of ceilings as `tessera machine` stores them."""


def write(path, rates, threads=1):
    """Writes a file of ceilings; `rates` has a value by name. Returns the environment in which
    the program reads it."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('host = "h"\nmeasured_at = "t"\n')
        for name, value in rates.items():
            file.write(f'\n[[ceiling]]\nname = "{name}"\nthreads = {threads}\n'
                       f'value = {value:e}\nunits = ""\n')
    return {"TESSERA_MACHINE_FILE": path}
