import { SetupError } from '@org/agent-messaging-node/wiring'
import { CommanderError } from 'commander'
import { createProgram, exitCodeOf } from './program.js'
import { printable } from './terminal.js'

/** Runs a command with these words. Prints its error and sets the exit code of the process. */
export async function runProgram(words: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(words, { from: 'user' })
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    const isSystemError = error instanceof Error && 'syscall' in error
    // An error message can contain text from an agent.
    if (error instanceof SetupError || isSystemError) console.error(printable(error.message))
    else if (!(error instanceof CommanderError)) console.error(error)
  }
}
