// Runs the example of this folder and compares its output with its expected.txt.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const expected = readFileSync('expected.txt', 'utf8')
const folder = mkdtempSync(path.join(tmpdir(), 'agent-messaging-example-'))
const printed = execFileSync(process.execPath, ['dist/main.js'], {
  env: { ...process.env, DATA: folder },
  encoding: 'utf8',
  timeout: 60_000,
})
rmSync(folder, { recursive: true })
if (printed !== expected) {
  console.error(`expected:\n${expected}\nprinted:\n${printed}`)
  process.exitCode = 1
} else console.log(`${path.basename(process.cwd())} prints the expected output.`)
