import { readFileSync } from 'node:fs'
import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { addAgents } from './commands/agents.js'
import { addCopy } from './commands/copy.js'
import { addDeliveries } from './commands/deliveries.js'
import { addDoctor } from './commands/doctor.js'
import { addErase } from './commands/erase.js'
import { addKeys } from './commands/keys.js'
import { addProjects } from './commands/projects.js'
import { addReseal } from './commands/reseal.js'
import { addSend } from './commands/send.js'
import { addServe } from './commands/serve.js'
import { addUpkeep } from './commands/upkeep.js'
import { addVerify } from './commands/verify.js'
import { addWebhooks } from './commands/webhooks.js'
import { OperatorError } from './operator-error.js'

const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string }

const OF_ALL = `
Commands that show or change something work on the database of SERVICE_DATABASE_URL, or on the one that dev made in data/, also while
a server runs on it; send talks to a running server. All settings come from the environment and from .env: agent-messaging config.

Exit codes: 0 done, 1 it could not be done, 2 the command or a setting is wrong. What goes wrong is told on stderr in a sentence.

Examples:
  $ agent-messaging dev
  $ agent-messaging send echo "Hello"
  $ agent-messaging doctor
`

/** The command line. Help and complaints about usage go to `output`; stdout and stderr unless given. */
export function createProgram(output: OutputConfiguration = {}): Command {
  const program = new Command('agent-messaging')
    .description(
      'Send messages to agents, durably; deliver their answers as signed, retried webhooks.',
    )
    .version(version)
    .showHelpAfterError('(--help tells more)')
    .configureOutput(output)
    .addHelpText('after', OF_ALL)
    .exitOverride() // else it would exit by itself, with 1 for everything
  addServe(program)
  addProjects(program)
  addKeys(program)
  addAgents(program)
  addWebhooks(program)
  addDeliveries(program)
  addSend(program)
  addVerify(program)
  addErase(program)
  addUpkeep(program)
  addCopy(program)
  addReseal(program)
  addDoctor(program)
  return program
}

/** 0 done, 1 failed, 2 wrong usage or configuration. What commander throws it has told already. */
export function exitCodeOf(error: unknown): 0 | 1 | 2 {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof OperatorError ? error.exitCode : 1
}
