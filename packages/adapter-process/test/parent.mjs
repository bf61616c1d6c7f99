// A process of its own, on the built package: starts the program it is given and passes on what that prints, until it is killed.
import { startChild } from '../dist/child.js'

const program = JSON.parse(process.argv[2])
const { stdout } = startChild(program, { environment: process.env, onStderrLine: () => undefined })
stdout.pipe(process.stdout)
