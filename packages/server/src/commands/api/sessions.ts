import type { Message, Session } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { firstOf } from '../backend.js'
import { Reason } from '../client-error.js'
import { addApiCommand, type Invocation } from '../command.js'
import { limitOption } from '../options.js'
import { table } from '../output.js'

type Context = Invocation<{ readonly limit: number }>

export function addSessions(program: Command) {
  const sessions = program.command('sessions').description('list sessions and read them')
  addApiCommand(sessions, 'list <agent>', {
    about: 'list the sessions of an agent, the one with the newest message first',
    thing: (agent) => `the sessions of agent ${agent}`,
    call: ({ client, options }: Context, agent) =>
      firstOf(client.sessions.list(agent), options.limit),
    text: (found) => table(found.map(row), 'No sessions.'),
  }).addOption(limitOption('sessions'))
  addApiCommand(sessions, 'show <agent> <session>', {
    about: 'show the newest messages of a session with their answers',
    thing: (agent, sessionId) => `session ${sessionId} of agent ${agent}`,
    call: async ({ client, options }: Context, agent, sessionId = '') => {
      const newest = await firstOf(client.messages.list(agent, { sessionId }), options.limit)
      if (newest.length === 0) throw new Reason('no such session')
      return newest.toReversed()
    },
    text: (found) => found.map(exchange).join('\n\n'),
  }).addOption(limitOption('messages'))
}

const row = ({ sessionId, openCount, lastMessageId, lastMessageAt }: Session) => ({
  session: sessionId,
  open: String(openCount),
  lastMessage: lastMessageId,
  lastMessageAt,
})

const exchange = ({ createdAt, messageId, state, message, response, error }: Message) => {
  const outcome = error ? `${error.code}: ${error.message}` : (response ?? 'no answer yet')
  return `${createdAt}  ${messageId}  ${state}\n${indented('> ', message)}\n${indented('  ', outcome)}`
}

const indented = (indent: string, text: string) =>
  text
    .split('\n')
    .map((line) => indent + line)
    .join('\n')
