// Installs a wheel in Pyodide and runs a Python file there: node parse.mjs WHEEL FILE
import { readFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const [wheel, file] = process.argv.slice(2);
const pyodide = await loadPyodide();
await pyodide.loadPackage(`file://${wheel}`, { messageCallback: () => {} });
await pyodide.runPythonAsync(readFileSync(file, "utf8"));
