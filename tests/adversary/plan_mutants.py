"""Plans that differ in one place from a sound one: check_plan.py must complain
of each."""
import copy

NAMED = ("reduction", "spread", "names", "shard", "home", "axes", "reduce_axes",
         "split_axes", "over", "pattern")


def integers(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from integers(item, path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from integers(item, path + (i,))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path


def is_free(path):
    """Inputs that no figure depends on, or that only order operations."""
    words = [str(p) for p in path]
    return (words[:2] in (["policy", "bucket_elements"], ["policy", "micro_group_bytes"],
                          ["policy", "tp_subgroup"], ["policy", "tokens"], ["policy", "active"])
            or (words[0] == "stages" and words[-1] == "work_bytes")
            or (words[0] == "schedule" and words[2] in ("waits", "stream"))
            or words[0] in ("constants", "uneven_reduce")  # rates that nothing depends on, rounding
            or (words[0] == "stages" and words[2] in ("steps", "phases"))
            or (words[0] == "stages" and words[-1] == "start")  # all may begin later
            or (words[0] == "classes" and words[4:5] == ["steps"]
                and words[-1] == "bytes")  # rounding, as above
            or words[2:4] == ["stored", "shape"]  # how much padding there is
            or words[-1] == "witness" or "prices" in words)


def is_of_fit(data, path):
    """A bound that its prices prove may be one higher and they still do."""
    return (path[:2] == ("metrics", "bounds") and path[-1] == "value" and
            data["metrics"]["bounds"][path[2]]["name"] == "fit")


def runs_nowhere(data, path):
    """Flops of a stage that no operation runs: all of its matrices are shared."""
    if path[0] != "stages" or path[2] != "flops":
        return False
    return all(work["stage"] != path[1] for op in data["schedule"]
               for work in op["work"])


def is_of_copies(data, path):
    """What was not made: values inside kernels, which plans do not show; and what
    an update was before."""
    if path[0] != "stages" or path[2] != "rewrites":
        return False
    name = data["stages"][path[1]]["rewrites"][path[3]]["name"]
    return name == "gram" or (
        name in ("epilogue", "transpose") and path[4] in ("count", "before"))


def is_of_trials(data, path):
    """What was simulated and not taken, and how long what was taken would take:
    all that the plan says of the first and checks of the second is that no other
    takes less."""
    if path[0] != "groupings":
        return False
    ways = data["groupings"]
    return (path[2] == "time_ps" or
            ways[path[1]] != min(ways, key=lambda w: w["time_ps"]))


def words(value, path=()):
    """What names axes, reductions and parameters that are dealt out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from words(item, path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from words(item, path + (i,))
    elif isinstance(value, str) and (
            path[0] in ("mesh", "reductions") or
            any(key in NAMED for key in path[2:])):
        yield path


def splits_nothing(data, path):
    """An axis of split_axes that have one coordinate together: no operation
    names it, no figure depends on it.  Likewise one coordinate of `over`."""
    sizes = {a["name"]: a["size"] for a in data["mesh"]["axes"]}
    if path[0] == "schedule" and path[2] == "over":
        return sizes[data["schedule"][path[1]]["over"][path[3]]] == 1
    if path[0] != "reductions" or path[2] != "split_axes":
        return False
    return all(sizes[a] == 1 for a in data["reductions"][path[1]]["split_axes"])


def changed(data, path, change):
    """A copy along the path alone: all else is the sound plan's own."""
    mutant = copy.copy(data)
    if len(path) == 1:
        change(mutant, path[0])
    else:
        mutant[path[0]] = changed(data[path[0]], path[1:], change)
    return mutant


def one_more(place, key):
    place[key] += 1


def misspell(place, key):
    place[key] += "x"


def drop(place, key):
    del place[key]


def repeat(place, key):
    place.insert(key, place[key])


def evenly(paths, limit):
    return paths[::max(1, len(paths) // limit)]


def longer(place, key):
    place[key] += place[key] >> 6


def clear(place, key):
    place[key] = [0] * len(place[key])


def unproved(data):
    """A bound by fit beyond what its prices prove, and with too few of them."""
    for i, bound in enumerate(data["metrics"]["bounds"]):
        if bound["prices"]:
            at = "metrics", "bounds", i
            yield "a longer fit", changed(data, (*at, "value"), longer)
            yield "a fit without prices", changed(
                data, (*at, "prices", "classes"), clear)


def mutants(data, limit):
    """(what was done, plan); about `limit` of each kind."""
    yield from unproved(data)
    numbers = [p for p in integers(data) if not is_free(p)
               and not runs_nowhere(data, p) and not is_of_trials(data, p)
               and not is_of_copies(data, p)
               and not is_of_fit(data, p)]
    for path in evenly(numbers, limit):
        yield f"one more in {path}", changed(data, path, one_more)
    names = list(words(data))
    for path in evenly(names, limit):
        yield f"another name in {path}", changed(data, path, misspell)
    listed = [p for p in names if isinstance(p[-1], int)]
    for path in evenly(listed, limit):
        if not splits_nothing(data, path):
            yield f"{path} left out", changed(data, path, drop)
        yield f"{path} twice", changed(data, path, repeat)
