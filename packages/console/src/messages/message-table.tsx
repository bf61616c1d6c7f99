import type { FoundMessage, Message } from '@org/agent-messaging-core'
import { SessionLink } from './conversation.js'
import { BASE } from '../options.js'
import { Id, Post, Status, Time } from '../parts/parts.js'
import type { Columns } from '../parts/table.js'
import { messageLabel, shortened } from '../parts/wording.js'

/** UTF-16 units. The page of the message has the whole text. */
const SHOWN_TEXT = 200

export const messagePath = (id: string): string => `${BASE}/messages/${id}`

/** Messages of any agent: each with its state, its session, and its answer or error. */
export const messageColumns: Columns<FoundMessage> = {
  Message: ({ message: { id } }) => <Id id={id} href={messagePath(id)} />,
  State: ({ message }) => <Status {...messageLabel(message.state)} />,
  Session: {
    class: 'any',
    cell: ({ message: { agentId, sessionId } }) => (
      <SessionLink agent={agentId} sessionId={sessionId} />
    ),
  },
  Text: {
    class: 'any',
    dir: 'auto',
    cell: ({ message }) => shortened(message.message, SHOWN_TEXT),
  },
  'Answer or error': {
    class: 'any',
    dir: 'auto',
    cell: ({ message: { id, agentId, state } }) => (
      <>
        <Outcome state={state} />
        {(state.kind === 'failed' || state.kind === 'cancelled') && (
          <Post
            to={`/messages/${agentId}/${id}/retry`}
            class="small"
            aria-label={`Retry message ${id}`}
          >
            Retry
          </Post>
        )}
      </>
    ),
  },
  Sent: ({ message }) => <Time at={message.createdAt} />,
}

function Outcome({ state }: Pick<Message, 'state'>) {
  if (state.kind === 'responded') return <>{shortened(state.response, SHOWN_TEXT)}</>
  if (state.kind !== 'failed') return <>–</>
  return (
    <>
      <code>{state.error.code}</code> {shortened(state.error.message, SHOWN_TEXT)}
    </>
  )
}
