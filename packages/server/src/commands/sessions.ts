import type { Message } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { firstOf, onBackend, type Backend } from './backend.js'
import { example, wholeNumber, withBackend, type BackendOptions } from './options.js'
import { print, table } from './output.js'

type Options = BackendOptions & { readonly limit: number }

export function addSessions(program: Command): void {
  const sessions = program.command('sessions').description('list sessions and read them')

  withBackend(sessions.command('list <agent>'))
    .description('list the sessions of an agent, the one with the newest message first')
    .option('--limit <number>', 'maximum number of sessions', wholeNumber(1), 20)
    .addHelpText('after', example('agent-messaging sessions list support'))
    .action((agent: string, options: Options) =>
      onBackend(options, (backend) => list(backend, agent, options)),
    )

  withBackend(sessions.command('show <agent> <session>'))
    .description('show the newest messages of a session with their answers')
    .option('--limit <number>', 'maximum number of messages', wholeNumber(1), 20)
    .addHelpText('after', example('agent-messaging sessions show support customer-42'))
    .action((agent: string, sessionId: string, options: Options) =>
      onBackend(options, (backend) => show(backend, { agent, sessionId }, options)),
    )
}

async function list({ client }: Backend, agent: string, { limit, json }: Options): Promise<void> {
  const failure = `cannot list the sessions of agent ${agent}`
  const found = await firstOf(client.sessions.list(agent), limit, failure)
  const rows = found.map(({ sessionId, openCount, lastMessageId, lastMessageAt }) => ({
    session: sessionId,
    open: String(openCount),
    lastMessage: lastMessageId,
    lastMessageAt,
  }))
  print(json, found, table(rows, 'No sessions.'))
}

async function show(
  { client }: Backend,
  { agent, sessionId }: { readonly agent: string; readonly sessionId: string },
  { limit, json }: Options,
): Promise<void> {
  const failure = `cannot show session ${sessionId} of agent ${agent}`
  const newest = await firstOf(client.messages.list(agent, { sessionId }), limit, failure)
  if (newest.length === 0) throw new OperatorError(`${failure}: no such session`)
  const found = newest.toReversed()
  print(json, found, found.map(exchange).join('\n\n'))
}

const exchange = ({ createdAt, messageId, state, message, response, error }: Message): string => {
  const outcome = error ? `${error.code}: ${error.message}` : (response ?? 'no answer yet')
  return `${createdAt}  ${messageId}  ${state}\n${indented('> ', message)}\n${indented('  ', outcome)}`
}

const indented = (indent: string, text: string): string =>
  text
    .split('\n')
    .map((line) => indent + line)
    .join('\n')
