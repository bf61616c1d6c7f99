import { CommanderError } from 'commander'
import { SetupError } from '@org/agent-messaging-node/wiring'
import { createProgram, exitCodeOf } from './program.js'
import { printable } from './terminal.js'

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader such as `head` closes the pipe early, which is no error.
  if (code !== 'EPIPE') console.error(`cannot write the output: ${message}`)
  process.exit(code === 'EPIPE' ? process.exitCode : 1)
})
// Without stderr there is no place to report an error.
process.stderr.on('error', () => undefined)

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  const isSystemError = error instanceof Error && 'syscall' in error
  // An error message can contain text from an agent.
  if (error instanceof SetupError || isSystemError) console.error(printable(error.message))
  else if (!(error instanceof CommanderError)) console.error(error)
}
