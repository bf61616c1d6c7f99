// Starts the given program and forwards its output. A SIGTERM stops it with a grace of ten minutes.
import { startChild } from '../dist/child.js'

const child = startChild(JSON.parse(process.argv[2]), {
  environment: process.env,
  onStderrLine: (line) => process.stderr.write(`${line}\n`),
})
child.stdout.pipe(process.stdout)
process.on('SIGTERM', () => void child.stop(600_000))
