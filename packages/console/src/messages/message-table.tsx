import { BASE } from '../context.js'
import type { FoundMessage, Message } from '@org/agent-messaging-core'
import { isUuid } from '@org/agent-messaging-core/runtime'
import {
  isAgentName,
  MESSAGE_STATES,
  type SearchMessagesInput,
} from '@org/agent-messaging-core/host'
import { AgentLink, type AgentNames } from '../agents.js'
import { SessionLink } from './conversation.js'
import { Id, Post, Status } from '../parts/parts.js'
import type { Columns } from '../parts/table.js'
import { ErrorText, messageLabel, shortened } from '../parts/wording.js'
import { z } from 'zod'
import { fieldsOf, optional, timeRange, optionalText } from '../parts/filter.js'
import type { Form } from '../parts/input.js'

/** UTF-16 units. The page of the message has the whole text. */
const SHOWN_TEXT = 200

export const messagePath = (id: string) => `${BASE}/messages/${id}`

/** Messages of any agent: each with its state, its session, and its answer or error. */
export const messageColumns = (names: AgentNames): Columns<FoundMessage> => ({
  Message: ({ message: { id } }) => <Id id={id} href={messagePath(id)} />,
  State: ({ message }) => <Status {...messageLabel(message.state)} />,
  Agent: ({ message: { agentId } }) => <AgentLink id={agentId} names={names} />,
  Session: {
    class: 'any',
    cell: ({ message: { agentId, sessionId } }) => (
      <SessionLink agent={agentId} sessionId={sessionId} />
    ),
  },
  For: {
    class: 'any',
    cell: ({ message: { executionPrincipal } }) => <Person principal={executionPrincipal} />,
  },
  Text: {
    class: 'any',
    dir: 'auto',
    cell: ({ message }) => shortened(message.message, SHOWN_TEXT),
    csv: ({ message }) => message.message,
  },
  'Answer or error': {
    class: 'any',
    dir: 'auto',
    cell: ({ message: { id, agentId, state } }) => (
      <>
        <Outcome state={state} />
        {(state.kind === 'failed' || state.kind === 'cancelled') && (
          <Post
            call="messages.retry"
            to={`/messages/${agentId}/${id}/retry`}
            class="small"
            aria-label={`Retry message ${id}`}
          >
            Retry
          </Post>
        )}
      </>
    ),
    csv: ({ message: { state } }) => {
      if (state.kind === 'responded') return state.response
      return state.kind === 'failed' ? <ErrorText {...state.error} /> : ''
    },
  },
  Sent: { at: ({ message }) => message.createdAt },
})

/** Links to the page of an end user. */
export const Person = ({ principal }: { readonly principal: Message['executionPrincipal'] }) =>
  principal.type === 'service' ? (
    <>the service</>
  ) : (
    <a href={personPath(principal.endUserId)}>
      <bdi>{principal.endUserId}</bdi>
    </a>
  )

function Outcome({ state }: Pick<Message, 'state'>) {
  if (state.kind === 'responded') return <>{shortened(state.response, SHOWN_TEXT)}</>
  if (state.kind !== 'failed') return <>–</>
  return <ErrorText {...state.error} />
}

const schemaIn = (zone: string) =>
  z.object({
    state: optional(z.enum(MESSAGE_STATES)),
    agent: optional(
      z
        .string()
        .trim()
        .refine((value) => isAgentName(value) || isUuid(value)),
    ),
    id: optional(z.string().refine(isUuid).toLowerCase()),
    session: optionalText,
    user: optionalText,
    correlation: optionalText,
    text: optionalText,
    ...timeRange(zone),
  })

/** The messages that an address or a form selects. */
export type MessageFilter = Partial<z.output<ReturnType<typeof schemaIn>>>

export const messageFilterIn = (fields: Form, zone: string): MessageFilter =>
  schemaIn(zone).parse(fields)

export const searchOf = (
  projectId: string,
  { state, agent, id, session, user, correlation, text: part, from, to }: MessageFilter,
): Omit<SearchMessagesInput, 'page'> => ({
  projectId,
  state,
  agent,
  messageId: id,
  sessionId: session,
  endUserId: user,
  correlationId: correlation,
  text: part,
  createdAfter: from,
  createdBefore: to,
})

export const PEOPLE = `${BASE}/people`

/** The id is part of the query. Browsers and proxies change paths with `..` or a slash. */
export const personPath = (id: string) => `${PEOPLE}?${new URLSearchParams({ id }).toString()}`

export const CONVERSATIONS = `${BASE}/conversations`

/** Returns the address of the list of the messages that match. */
export function messagesPath(filter: MessageFilter) {
  const query = new URLSearchParams(fieldsOf(filter)).toString()
  return query === '' ? CONVERSATIONS : `${CONVERSATIONS}?${query}`
}

export const SESSIONS = `${CONVERSATIONS}/sessions`

/** Returns the address of the sessions of an agent, or of the one with the newest message. */
export const sessionsPath = (agent?: string) =>
  agent === undefined ? SESSIONS : `${SESSIONS}?agent=${agent}`
