// Runs the example of this folder and compares its output with its expected.txt.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const expected = readFileSync('expected.txt', 'utf8')
const printed = execFileSync(process.execPath, ['dist/main.js'], {
  encoding: 'utf8',
  timeout: 60_000,
})
if (printed !== expected) {
  console.error(`expected:\n${expected}\nprinted:\n${printed}`)
  process.exitCode = 1
} else console.log(`${path.basename(process.cwd())} prints the expected output.`)
