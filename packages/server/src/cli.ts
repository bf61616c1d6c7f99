import { runProgram } from './program.js'

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader such as `head` closes the pipe early, which is no error.
  if (code !== 'EPIPE') console.error(`cannot write the output: ${message}`)
  process.exit(code === 'EPIPE' ? process.exitCode : 1)
})
// Without stderr there is no place to report an error.
process.stderr.on('error', () => undefined)

await runProgram(process.argv.slice(2))
