import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { addAgents } from './commands/api/agents.js'
import { addAuditLog } from './commands/api/audit-log.js'
import { addCopy, addUpkeep } from './commands/upkeep.js'
import { addCreate } from './commands/create.js'
import { addDeliveries } from './commands/api/deliveries.js'
import { addRecoveries } from './commands/api/recoveries.js'
import { addDoctor } from './commands/doctor.js'
import { addErase } from './commands/api/erase.js'
import { addEventTypes } from './commands/api/event-types.js'
import { addEvents } from './commands/api/events.js'
import { addKeys, addPlatformKeys } from './commands/api/keys.js'
import { addListen } from './commands/listen.js'
import { addInputs } from './commands/api/inputs.js'
import { addMessages } from './commands/api/messages.js'
import { addPortalLinks } from './commands/api/portal-links.js'
import { addProjects } from './commands/api/projects.js'
import { addReseal } from './commands/reseal.js'
import { addSend } from './commands/send.js'
import { addServe } from './commands/serve.js'
import { addSessions } from './commands/api/sessions.js'
import { addStatus } from './commands/api/status.js'
import { addFailures } from './commands/api/failures.js'
import { addUsage } from './commands/api/usage.js'
import { addVerify } from './commands/verify.js'
import { addWebhooks } from './commands/api/webhooks.js'
import { version } from './version.js'
import { SetupError } from '@org/agent-messaging-node/wiring'
import { printable } from './terminal.js'

const NOTES = `
Most commands open the database in SERVICE_DATABASE_URL, or else the one that dev created in data/.
All except copy and restore also work while a server uses the database. send calls a running server.
Commands with --server also work over HTTP, with --api-key or with --profile. See docs/cli.md.
Settings come from the environment and from .env. To list them, run: agent-messaging config

Exit codes: 0 success, 1 failure, 2 invalid command or setting. Errors are printed to stderr.

Examples:
  $ agent-messaging dev
  $ agent-messaging send echo "Hello"
  $ agent-messaging doctor
`

const COMMANDS = [
  addServe,
  addListen,
  addStatus,
  addFailures,
  addUsage,
  addCreate,
  addProjects,
  addKeys,
  addPlatformKeys,
  addPortalLinks,
  addAuditLog,
  addAgents,
  addWebhooks,
  addDeliveries,
  addRecoveries,
  addMessages,
  addInputs,
  addSessions,
  addEvents,
  addEventTypes,
  addSend,
  addVerify,
  addErase,
  addUpkeep,
  addCopy,
  addReseal,
  addDoctor,
]

/** The command line. Help and usage errors go to `output`, by default stdout and stderr. */
export function createProgram(output: OutputConfiguration = {}): Command {
  const program = new Command('agent-messaging')
    .description('Send messages to agents, and deliver their answers as signed, retried webhooks.')
    .version(version)
    .showHelpAfterError('(run with --help for usage)')
    .configureOutput(output)
    .addHelpText('after', NOTES)
    .exitOverride() // otherwise commander ends the process, always with exit code 1
  for (const add of COMMANDS) add(program)
  return program
}

/** 0 success, 1 failure, 2 invalid usage or settings. */
export function exitCodeOf(error: unknown) {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof SetupError ? error.exitCode : 1
}

/** Runs a command with these words. Prints its error and sets the exit code of the process. */
export async function runProgram(words: readonly string[]) {
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
