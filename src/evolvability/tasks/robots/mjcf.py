"""Robots as files: any MJCF with all that it refers to, packed into one archive that needs nothing else.

What is trained is what the archive holds, so that whoever has the archive has the same robot, to the bit. An archive
may come from somebody else: it leads to no file outside of it, is bounded, and has no plugins.
"""

import copy
import hashlib
import io
import re
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import gymnasium
import mujoco

from evolvability.core.errors import ConfigError, unknown

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
OWN_ASSETS = Path(__file__).with_name("assets")
XML = "robot.xml"
"""The name of the model in its archive; other names are those of its assets."""
MAX_BYTES = 256 << 20
"""Of an archive's files together."""
MAX_FILES = 2000
MAX_PIXELS = 1 << 26
REFUSED = ("plugin", "extension", "include", "model", "replicate", "composite", "flexcomp", "attach")
"""Elements that load code, lead elsewhere, or are larger than they look; packing leaves none of the harmless ones."""
EXPANDED = ("replicate", "composite", "flexcomp", "attach")
"""What of them MuJoCo writes out."""
FOLDERS = {"texture": "texturedir"}
"""Which attribute of <compiler> says where an element's files are; of all others it is meshdir."""

Read = Callable[[str], bytes]


def packed(source: Any) -> tuple[str, bytes]:
    """A model's name, and its archive; source: a path of an MJCF or of an archive, a name of Gymnasium's, an MjSpec."""
    if isinstance(source, mujoco.MjSpec):
        given, folder = dict(source.assets), Path(source.modelfiledir or ".")
        return source.modelname, _pack(source.to_xml(), lambda name: given.get(name) or (folder / name).read_bytes())
    path = path_of(str(source))
    try:
        content = path.read_bytes()
    except OSError as error:
        meant = f" Did you mean the model {path.stem}, without .xml?" if path.stem in known_models() else ""
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.{meant}") from None
    if path.suffix == ".zip":
        return path.stem, content
    try:
        text = content.decode("utf-8", errors="replace")
        if re.search(rf"<\s*({'|'.join(EXPANDED)})\b", text):
            # By MuJoCo, which writes numbers with six digits.
            return packed(mujoco.MjSpec.from_file(str(path)))
        return path.stem, _pack(text, lambda name: (path.parent / name).read_bytes())
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{path} is not a robot: {' '.join(str(error).split())}") from None


def path_of(text: str) -> Path:
    """The file that a text names: a path, or the name of a model that comes with this package or Gymnasium's."""
    if Path(text).suffix.lower() in (".xml", ".mjcf", ".zip", ".urdf"):
        return Path(text)
    known = known_models()
    if text not in known:
        raise ConfigError(unknown("model", text, known, also=", or the path of an MJCF, such as my.xml"))
    return known[text]


def known_models() -> dict[str, Path]:
    """The files of models that come with Gymnasium or this package, by name."""
    return {path.stem: path for folder in (ASSETS, OWN_ASSETS) for path in sorted(folder.glob("*.xml"))}


def unpacked(archive: bytes, name: str, edit: Callable[[mujoco.MjSpec], None] = lambda spec: None) -> mujoco.MjModel:
    """The model in an archive, which may be anybody's; ``edit`` may change it before it is compiled."""
    try:
        files = _files(archive)
        text = files.pop(XML).decode()
        _check(text, set(files))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            spec = mujoco.MjSpec.from_string(text, assets=files)
            _check_sizes(spec)
            edit(spec)
            model = spec.compile()
    except ConfigError as error:
        raise ConfigError(f"{name} is not a robot: {error}") from None
    except Exception as error:  # MuJoCo's are ValueErrors, a zip file's many
        raise ConfigError(f"{name} is not a robot: {' '.join(str(error).split())}") from None
    return checked_model(model, name)


def checked_model(model: mujoco.MjModel, name: str) -> mujoco.MjModel:
    """A copy of a model that networks can drive."""
    model = copy.copy(model)
    # A simulation that breaks down must be seen to be left out.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    if model.opt.timestep <= 0:
        raise ConfigError(f"{name} has a timestep of {model.opt.timestep:g} s. Set <option timestep> to more than 0.")
    if not model.njnt:
        raise ConfigError(f"{name} has no joint, so nothing of it can move. Give its bodies joints.")
    if not model.nu:
        raise ConfigError(f"{name} has no actuator, so that a network cannot move it. Add <actuator> with motors.")
    return model


def _pack(text: str, read: Read) -> bytes:
    """One file without includes, whose assets lie beside it under plain names."""
    root = _parsed(text)
    _include(root, read)
    _check_numbers(root)
    folders = {"meshdir": "", "texturedir": ""}
    for compiler in root.iter("compiler"):
        both = compiler.attrib.pop("assetdir", "")
        for key in folders:
            folders[key] = compiler.attrib.pop(key, both) or folders[key]
        is_stripped = compiler.attrib.pop("strippath", "false") == "true"
        folders["strip"] = "yes" if is_stripped else ""
    files: dict[str, bytes] = {}
    for element in root.iter():
        for key in [key for key in element.attrib if key.startswith("file")]:
            named = element.attrib[key]
            plain = Path(named).name if folders.get("strip") else named
            content = _asset(read, folders[FOLDERS.get(element.tag, "meshdir")], plain, element.tag)
            # A mesh's or texture's own name is that of its file, where it has none.
            if element.tag in ("mesh", "texture", "hfield", "skin") and key == "file":
                element.attrib.setdefault("name", Path(named).stem)
            own = f"{hashlib.sha256(content).hexdigest()[:16]}{Path(named).suffix.lower()}"
            files[own], element.attrib[key] = content, own
    files = {XML: ElementTree.tostring(root)} | dict(sorted(files.items()))
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # Without the time: the same robot is the same archive.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packing.getvalue()


def _parsed(text: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ConfigError(f"it is not XML ({error}).") from None


def _include(parent: ElementTree.Element, read: Read, depth: int = 0) -> None:
    """Put included files in the place of their names."""
    if depth > 50:
        raise ConfigError("files include each other without end.")
    for place, child in reversed(list(enumerate(parent))):
        if child.tag == "include":
            content = _asset(read, "", child.attrib.get("file", ""), "include")
            inside = _parsed(content.decode("utf-8", errors="replace"))
            _include(inside, read, depth + 1)
            parent[place : place + 1] = list(inside)
        else:
            _include(child, read, depth + 1)


def _asset(read: Read, folder: str, name: str, tag: str) -> bytes:
    try:
        return read(str(Path(folder) / name))
    except OSError:
        raise ConfigError(f"the file '{Path(folder) / name}' of its <{tag}> is missing.") from None


def _check_numbers(root: ElementTree.Element) -> None:
    """MuJoCo leaves out a number that is not one, and goes on without."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if key not in ("name", "file", "class") and "nan" in value.lower().split():
                raise ConfigError(f"{key}='{value}' of <{element.tag}> is not a number.")


def _files(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as packing:
        entries = packing.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > MAX_BYTES or len(entries) > MAX_FILES:
            most = f"{MAX_BYTES >> 20} MB in {MAX_FILES:,} files at most"
            raise ConfigError(f"it has {size >> 20:,} MB in {len(entries):,} files; {most}.")
        if XML not in packing.namelist():
            raise ConfigError(f"it has no {XML}.")
        found = {}
        for entry in entries:
            with packing.open(entry) as file:
                found[entry.filename] = file.read(entry.file_size)  # no more than it says
    return found


def _check(text: str, files: set[str]) -> None:
    """Refuse a model that would load code, or lead to files outside of its archive."""
    if found := re.search(rf"<\s*({'|'.join(REFUSED)})\b", text):
        raise ConfigError(f"it has <{found[1]}>, which is not accepted: no plugins, and no other files.")
    if found := re.search(r"\b(meshdir|texturedir|assetdir)\s*=", text):
        raise ConfigError(f"it has {found[1]}, which leads out of its archive.")
    named = {name for pair in re.findall(r"\bfile\w*\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", text) for name in pair if name}
    if missing := named - files:
        raise ConfigError(f"it names the file '{min(missing)}', which is not in its archive.")


def _check_sizes(spec: mujoco.MjSpec) -> None:
    pixels = [texture.width * max(texture.height, texture.width) for texture in spec.textures]
    pixels += [field.nrow * field.ncol for field in spec.hfields]
    asked = max(spec.memory, 8 * spec.nuserdata, 8 * spec.nstack, 0)
    if max(pixels, default=0) > MAX_PIXELS or asked > MAX_BYTES:
        raise ConfigError("it asks for more memory than a robot needs, by a texture, a height field or <size>.")
