// Starts the given program from the built package and forwards its output, until this process is
// killed. On SIGTERM, it stops the program with a grace of ten minutes.
import { startChild } from '../dist/child.js'

const child = startChild(JSON.parse(process.argv[2]), {
  environment: process.env,
  onStderrLine: (line) => process.stderr.write(`${line}\n`),
})
child.stdout.pipe(process.stdout)
process.on('SIGTERM', () => void child.stop(600_000))
