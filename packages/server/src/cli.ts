import { CommanderError } from 'commander'
import { harmless } from './harmless.js'
import { OperatorError } from './operator-error.js'
import { createProgram, exitCodeOf } from './program.js'

// A reader that has seen enough, such as `head`, is no fault of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  if (error instanceof OperatorError) console.error(harmless(error.message)) // an agent may have said why
  else if (!(error instanceof CommanderError)) console.error(error)
}
