import type { Message } from '@org/agent-messaging-core'
import { answerFields, type AnswerField } from '@org/agent-messaging-core/host'
import { openInput } from '@org/agent-messaging-core/storage'
import { BASE } from '../options.js'
import { Facts, Time } from '../parts/parts.js'
import type { Field } from '../parts/fields.js'
import type { Form } from '../parts/input.js'

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
              <div dir="auto">
                {typeof answer.value === 'string' ? answer.value : JSON.stringify(answer.value)}
              </div>
            ) : isOpen ? (
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

/** Tells why a question got no answer. */
function endOf({ state }: Message) {
  if (state.kind === 'cancelled') return 'none: the message was cancelled'
  const code = state.kind === 'failed' ? state.error.code : undefined
  if (code === 'INPUT_WITHDRAWN') return 'none: withdrawn'
  return code === 'INPUT_EXPIRED' ? 'none: expired' : 'none'
}

export const nameOf = (principal: Message['executionPrincipal']): string =>
  principal.type === 'service' ? 'the service' : principal.endUserId

/** A form that was refused: its texts, and the reason. */
export type Refused = { readonly form: Form; readonly problem: string }

/** Describes the fields of an answer, with the problem at its field. */
export function fieldsOfAnswer(input: Input, refused: Refused | undefined) {
  const fields = answerFields(input)
  const wrong = refused && (fieldAt(fields, refused.problem) ?? fields[0]?.name)
  const described = fields.map(
    ({ name, label, kind, choices, isRequired }, at): [string, Field] => [
      name,
      {
        id: `field-${at}`,
        label: (
          <>
            <bdi>{label}</bdi>
            {kind === 'json' && ' (JSON)'}
          </>
        ),
        required: isRequired,
        problem: wrong === name ? refused?.problem : undefined,
        ...(choices.length > 0
          ? { type: 'radio', set: choices.map((choice) => [choice, <bdi>{choice}</bdi>]) }
          : kind === 'number'
            ? { type: 'number', step: 'any' }
            : { rows: kind === 'json' ? 6 : 3 }),
      },
    ],
  )
  return Object.fromEntries(described)
}

/** Returns the field that the problem of a schema names by a JSON pointer. */
const fieldAt = (fields: readonly AnswerField[], problem: string) =>
  fields.find(({ name }) => problem.includes(` at ${name.replace(/^value\.?/, '/')}:`))?.name
