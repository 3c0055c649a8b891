#!/usr/bin/env python3
"""The library as others meet it: what it exports, that it links alone, that its header is clean, and that README's program does what it says.

    test_library.py --shared LIB.so --static LIB.a [--program USE] [--build DIR]

--build: a whole build, to be installed beside and used by pkg-config.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = os.path.join(ROOT, "include", "goodput", "telemetry.h")
args = None


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=300, **more)


def declared():
    with open(HEADER) as f:
        return set(re.findall(r"^GOODPUT_API [^;(]*?(goodput_\w+)\(", f.read(), re.M))


def sanitizers():
    """Flags that a static library built with them needs when it is linked."""
    text = run("nm", args.static).stdout
    return [flag for mark, flag in (("__asan_init", "-fsanitize=address"), ("__ubsan_handle", "-fsanitize=undefined"), ("__tsan_init", "-fsanitize=thread")) if mark in text]


class Library(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="goodput-library-")
        self.addCleanup(shutil.rmtree, self.folder)

    def compile(self, name, text, *flags):
        source, program = os.path.join(self.folder, name), os.path.join(self.folder, "program")
        with open(source, "w") as f:
            f.write(text)
        built = run(os.environ.get("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include"), "-o", program, source, *flags)
        self.assertEqual(built.returncode, 0, built.stdout)
        return program

    def test_shared_library_exports_what_the_header_declares(self):
        found = set()
        for line in run("nm", "-D", "--defined-only", args.shared).stdout.splitlines():
            name = line.split()[-1]
            if name != "GOODPUT_0.1":
                self.assertRegex(name, r"^goodput_\w+@@GOODPUT_0\.1$")
                found.add(name.split("@")[0])
        self.assertGreater(len(found), 20)
        self.assertEqual(found, declared())

    def test_static_library_defines_no_other_name(self):
        lines = [line.split() for line in run("nm", "-g", "--defined-only", args.static).stdout.splitlines()]
        names = {words[2] for words in lines if len(words) == 3}
        self.assertTrue(declared() <= names)
        self.assertEqual([n for n in names if not n.startswith("goodput_") and not n.startswith("DW.ref.")], [])

    def test_shared_library_needs_libc_alone(self):
        needed = re.findall(r"NEEDED\).*\[(.*)\]", run("readelf", "-d", args.shared).stdout)
        self.assertEqual([n for n in needed if not re.match(r"lib(c|m|pthread|asan|ubsan|tsan)\.so|ld-linux", n)], [])

    def test_shared_library_can_be_loaded_at_run_time(self):
        """Its thread-local number is of the static block, for which a late loader has little room left."""
        if sanitizers():
            self.skipTest("not with sanitizers")
        done = run(sys.executable, "-c", """
import ctypes, os, threading
library = ctypes.CDLL(%r)
registry, counter = ctypes.c_void_p(), ctypes.c_void_p()
assert library.goodput_registry_open(None, ctypes.byref(registry)) == 0
assert library.goodput_counter_new(registry, b"loaded", b"h", ctypes.byref(counter)) == 0
threads = [threading.Thread(target=library.goodput_counter_inc, args=[counter]) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
library.goodput_registry_close(registry)
""" % os.path.abspath(args.shared), env=dict(os.environ, PROMETHEUS_MULTIPROC_DIR=self.folder))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_header_is_clean_c11(self):
        self.compile("strict.c", "#include <goodput/telemetry.h>\nint main(void)\n{\n\treturn goodput_status_text(0) == 0;\n}\n",
                     "-std=c11", "-pedantic", "-Wconversion", "-Wstrict-prototypes", args.static, "-pthread", *sanitizers())

    def test_program_of_readme(self):
        with open(os.path.join(ROOT, "README.md")) as f:
            section = re.search(r"^## Metrics from C$(.*?)(?=^## |\Z)", f.read(), re.S | re.M)
        self.assertIsNotNone(section, "README.md has no section 'Metrics from C'")
        text = re.search(r"```c\n(.*?)```", section.group(1), re.S).group(1)
        for kind, flags in (("static", [args.static, "-pthread"]),
                            ("shared", [args.shared, "-Wl,-rpath," + os.path.dirname(os.path.abspath(args.shared))])):
            # A folder each: another test may have the pid of the first given out again.
            folder = os.path.join(self.folder, "metrics-" + kind)
            program = self.compile("program.c", text, "-std=c11", *flags, *sanitizers())
            done = run(program, env=dict(os.environ, PROMETHEUS_MULTIPROC_DIR=folder))
            self.assertEqual(done.returncode, 0, done.stdout)
            files = sorted(os.listdir(folder))
            self.assertEqual(len([n for n in files if n.startswith("counter_")]), 1, files)
            with open(os.path.join(folder, files[0]), "rb") as f:
                self.assertIn(b'["requests", "requests_total", {"path": "/v1/completions"}, ', f.read())

    def test_program_in_c_plus_plus(self):
        if not args.program:
            self.skipTest("no C++ compiler")
        done = run(args.program, os.path.join(self.folder, "metrics"))
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))

    def test_installed_library_is_found_by_pkg_config(self):
        if not args.build or not shutil.which("pkg-config"):
            self.skipTest("no build or no pkg-config")
        root = os.path.join(self.folder, "root")
        done = run("meson", "install", "-C", args.build, "--no-rebuild", "--destdir", root, "--tags", "devel,runtime,man")
        self.assertEqual(done.returncode, 0, done.stdout)
        found = [os.path.join(path, name) for path, _, names in os.walk(root) for name in names]
        self.assertTrue([n for n in found if n.endswith("/man3/libgoodput.3")], found)
        folder = os.path.dirname([n for n in found if n.endswith("/goodput.pc")][0])
        flags = run("pkg-config", "--cflags", "--libs", "goodput", env=dict(os.environ, PKG_CONFIG_PATH=folder, PKG_CONFIG_SYSROOT_DIR=root)).stdout.split()
        self.compile_installed("#include <goodput/telemetry.h>\nint main(void)\n{\n\treturn goodput_counter_inc(0) != GOODPUT_INVALID;\n}\n", flags, os.path.dirname(folder))

    def compile_installed(self, text, flags, folder):
        source, program = os.path.join(self.folder, "installed.c"), os.path.join(self.folder, "installed")
        with open(source, "w") as f:
            f.write(text)
        built = run(os.environ.get("CC", "cc"), "-o", program, source, *flags, *sanitizers())
        self.assertEqual(built.returncode, 0, built.stdout)
        self.assertEqual(run(program, env=dict(os.environ, LD_LIBRARY_PATH=folder)).returncode, 0)

    def test_example_needs_only_the_public_header(self):
        with open(os.path.join(ROOT, "examples", "server.c")) as f:
            self.compile("server.c", f.read(), "-Wno-unused-parameter", args.static, "-pthread", *sanitizers())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", required=True)
    parser.add_argument("--static", required=True)
    parser.add_argument("--program")
    parser.add_argument("--build")
    args, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
