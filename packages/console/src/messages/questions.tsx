import type { Instant, Message } from '@org/agent-messaging-core'
import { openInput } from '@org/agent-messaging-core/runtime'
import { BASE } from '../options.js'
import { Time } from '../parts/parts.js'

/** A question of a message. */
export type Input = NonNullable<Message['inputs']>[number]
type Props = { readonly message: Message; readonly now: Instant }

/** Shows the questions that the agent asked people, with their answers. */
export const Questions = ({ message, now }: Props) => (
  <>
    {(message.inputs ?? []).map((input) => (
      <dl class="facts-list">
        <dt>Asks</dt>
        <dd class="long" dir="auto">
          {input.question}
        </dd>
        {input.options && (
          <>
            <dt>Options</dt>
            <dd class="long">{input.options.join(', ')}</dd>
          </>
        )}
        <Reply message={message} input={input} now={now} />
      </dl>
    ))}
  </>
)

function Reply({ message, input, now }: Props & { readonly input: Input }) {
  const { answer } = input
  if (answer)
    return (
      <>
        <dt>Answer</dt>
        <dd class="long" dir="auto">
          {typeof answer.value === 'string' ? answer.value : JSON.stringify(answer.value)}
        </dd>
        <dt>By</dt>
        <dd class="long">
          <bdi>{nameOf(answer.executionPrincipal)}</bdi>, <Time at={answer.answeredAt} now={now} />
        </dd>
      </>
    )
  const isOpen = openInput(message)?.id === input.id
  return (
    <>
      <dt>Answer</dt>
      <dd>
        {isOpen ? (
          <a href={`${BASE}/questions/${message.id}`}>Answer this question</a>
        ) : (
          endOf(message)
        )}
      </dd>
    </>
  )
}

/** Tells why a question got no answer. */
function endOf({ state }: Message): string {
  if (state.kind === 'cancelled') return 'none: the message was cancelled'
  const code = state.kind === 'failed' ? state.error.code : undefined
  if (code === 'INPUT_WITHDRAWN') return 'none: withdrawn'
  return code === 'INPUT_EXPIRED' ? 'none: expired' : 'none'
}

const nameOf = (principal: Message['executionPrincipal'] | undefined): string => {
  if (!principal) return 'the deadline'
  return principal.type === 'service' ? 'the service' : principal.endUserId
}
