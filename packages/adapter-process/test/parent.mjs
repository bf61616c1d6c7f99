// A process of its own, on the built package: starts the program it is given and passes on what that prints, until it is killed. At SIGTERM it
// has the program stop, and gives it ten minutes for that.
import { startChild } from '../dist/child.js'

const program = JSON.parse(process.argv[2])
const { stdout, stop } = startChild(program, {
  environment: process.env,
  onStderrLine: (line) => process.stderr.write(`${line}\n`),
})
stdout.pipe(process.stdout)
process.on('SIGTERM', () => void stop(600_000))
