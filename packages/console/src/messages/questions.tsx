import { BASE } from '../context.js'
import type { Message } from '@org/agent-messaging-core'
import { openInput } from '@org/agent-messaging-core/storage'
import { Facts, Time } from '../parts/parts.js'
import { can } from '../parts/input.js'
import { useView } from '../parts/zone.js'

/** A question of a message. */
export type Input = NonNullable<Message['inputs']>[number]

/** Shows the questions that the agent asked people, with their answers. */
export const Questions = ({ message }: { readonly message: Message }) => (
  <>
    {(message.inputs ?? []).map(({ id, question, options, answer }) => {
      const isOpen = openInput(message)?.id === id
      return (
        <Facts
          isCard={false}
          facts={{
            Asks: <div dir="auto">{question}</div>,
            Options: options?.join(', '),
            Answer: answer ? (
              <div dir="auto">{answerText(answer)}</div>
            ) : isOpen && can(useView().c, 'inputs.answer') ? (
              <a href={`${BASE}/questions/${message.id}`}>Answer this question</a>
            ) : (
              endOf(message)
            ),
            By: answer && (
              <>
                <bdi>
                  {answer.executionPrincipal ? nameOf(answer.executionPrincipal) : 'the deadline'}
                </bdi>
                , <Time at={answer.answeredAt} />
              </>
            ),
          }}
        />
      )
    })}
  </>
)

export const answerText = ({ value }: NonNullable<Input['answer']>) =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** Tells why a question got no answer. */
function endOf({ state }: Message) {
  if (state.kind === 'input_required') return 'none yet'
  if (state.kind === 'cancelled') return 'none: the message was cancelled'
  const code = state.kind === 'failed' ? state.error.code : undefined
  if (code === 'INPUT_WITHDRAWN') return 'none: withdrawn'
  return code === 'INPUT_EXPIRED' ? 'none: expired' : 'none'
}

export const nameOf = (principal: Message['executionPrincipal']) =>
  principal.type === 'service' ? 'the service' : principal.endUserId
