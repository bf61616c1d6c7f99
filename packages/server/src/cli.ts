import { CommanderError } from 'commander'
import { harmless } from './harmless.js'
import { OperatorError } from './operator-error.js'
import { createProgram, exitCodeOf } from './program.js'

// A reader that has seen enough, such as `head`, is no fault of ours.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') console.error(`what was asked for cannot be written: ${message}`)
  process.exit(code === 'EPIPE' ? process.exitCode : 1)
})
// Where nobody hears what goes wrong there is nobody to tell that to.
process.stderr.on('error', () => undefined)

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  if (error instanceof OperatorError) console.error(harmless(error.message)) // an agent may have said why
  else if (error instanceof Error && 'syscall' in error) console.error(harmless(error.message)) // the machine's, and not ours
  else if (!(error instanceof CommanderError)) console.error(error)
}
