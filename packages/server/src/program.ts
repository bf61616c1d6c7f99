import { readFileSync } from 'node:fs'
import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { addAgents } from './commands/agents.js'
import { addKeys } from './commands/keys.js'
import { addProjects } from './commands/projects.js'
import { addServe } from './commands/serve.js'
import { addWebhooks } from './commands/webhooks.js'
import { OperatorError } from './operator-error.js'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

/** The command line. Help and complaints about usage go to `output`; stdout and stderr unless given. */
export function createProgram(output: OutputConfiguration = {}): Command {
  const program = new Command('agent-messaging')
    .description('Send messages to agents, durably; deliver their answers as signed, retried webhooks.')
    .version(version)
    .showHelpAfterError('(--help tells more)')
    .configureOutput(output)
    .exitOverride() // else it would exit by itself, with 1 for everything
  addServe(program)
  addProjects(program)
  addKeys(program)
  addAgents(program)
  addWebhooks(program)
  return program
}

/** 0 done, 1 failed, 2 wrong usage or configuration. What commander throws it has told already. */
export function exitCodeOf(error: unknown): 0 | 1 | 2 {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof OperatorError ? error.exitCode : 1
}
