import type { FoundMessage, Instant, Message } from '@org/agent-messaging-core'
import { sessionPath } from './conversation.js'
import { BASE } from '../options.js'
import { Id, Status, Time } from '../parts/parts.js'
import { messageTones, shortened } from '../parts/wording.js'

/** UTF-16 units. The page of the message has the whole text. */
const SHOWN_TEXT = 200

export const messagePath = (id: string): string => `${BASE}/messages/${id}`

type TableProps = { readonly found: readonly FoundMessage[]; readonly now: Instant }

/** Shows messages of any agent: each with its state, its session, and its answer or error. */
export const MessageTable = ({ found, now }: TableProps) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Message</th>
        <th scope="col">State</th>
        <th scope="col">Session</th>
        <th scope="col">Text</th>
        <th scope="col">Answer or error</th>
        <th scope="col">Sent</th>
      </tr>
    </thead>
    <tbody>
      {found.map(({ message }) => (
        <MessageRow message={message} now={now} />
      ))}
    </tbody>
  </table>
)

const MessageRow = ({ message, now }: { readonly message: Message; readonly now: Instant }) => (
  <tr>
    <th scope="row">
      <Id id={message.id} href={messagePath(message.id)} />
    </th>
    <td data-label="State">
      <Status tone={messageTones[message.state.kind]}>{message.state.kind}</Status>
    </td>
    <td data-label="Session" class="any">
      <a href={sessionPath(message.agentId, message.sessionId)}>
        <bdi>{message.sessionId}</bdi>
      </a>
    </td>
    <td data-label="Text" class="any" dir="auto">
      {shortened(message.message, SHOWN_TEXT)}
    </td>
    <td data-label="Answer or error" class="any" dir="auto">
      <Outcome state={message.state} />
      {(message.state.kind === 'failed' || message.state.kind === 'cancelled') && (
        <form method="post" action={`${BASE}/messages/${message.agentId}/${message.id}/retry`}>
          <button class="small" aria-label={`Retry message ${message.id}`}>
            Retry
          </button>
        </form>
      )}
    </td>
    <td data-label="Sent">
      <Time at={message.createdAt} now={now} />
    </td>
  </tr>
)

function Outcome({ state }: Pick<Message, 'state'>) {
  if (state.kind === 'responded') return <>{shortened(state.response, SHOWN_TEXT)}</>
  if (state.kind !== 'failed') return <>–</>
  return (
    <>
      <code>{state.error.code}</code> {shortened(state.error.message, SHOWN_TEXT)}
    </>
  )
}
