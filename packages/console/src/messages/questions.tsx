import type { Message } from '@org/agent-messaging-core'
import { type AnswerField, answerFields, openInput } from '@org/agent-messaging-core/runtime'
import { BASE } from '../options.js'
import { Facts, Time } from '../parts/parts.js'
import { type Form, textIn } from '../parts/input.js'

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
function endOf({ state }: Message): string {
  if (state.kind === 'cancelled') return 'none: the message was cancelled'
  const code = state.kind === 'failed' ? state.error.code : undefined
  if (code === 'INPUT_WITHDRAWN') return 'none: withdrawn'
  return code === 'INPUT_EXPIRED' ? 'none: expired' : 'none'
}

export const nameOf = (principal: Message['executionPrincipal']): string =>
  principal.type === 'service' ? 'the service' : principal.endUserId

/** A form that was refused: its texts, and the reason. */
export type Refused = { readonly form: Form; readonly problem: string }

/** Shows the fields of an answer, with the problem beside its field. */
export function AnswerFields({
  input,
  refused,
}: {
  readonly input: Input
  readonly refused: Refused | undefined
}) {
  const fields = answerFields(input)
  const wrong = refused && (fieldAt(fields, refused.problem) ?? fields[0]?.name)
  return (
    <>
      {fields.map((field, at) => (
        <Field
          field={field}
          id={`field-${at}`}
          text={refused ? textIn(refused.form, field.name) : ''}
          problem={wrong === field.name ? refused?.problem : undefined}
        />
      ))}
    </>
  )
}

/** Returns the field that the problem of a schema names by a JSON pointer. */
const fieldAt = (fields: readonly AnswerField[], problem: string): string | undefined =>
  fields.find(({ name }) => problem.includes(` at ${name.replace(/^value\.?/, '/')}:`))?.name

type FieldProps = {
  readonly field: AnswerField
  readonly id: string
  readonly text: string
  readonly problem: string | undefined
}

function Field({
  field: { name, label, kind, choices, isRequired },
  id,
  text,
  problem,
}: FieldProps) {
  const described = problem === undefined ? undefined : `${id}-problem`
  const invalid = problem === undefined ? undefined : 'true'
  const shown = problem !== undefined && (
    <p class="problem" id={described} role="alert">
      {problem}
    </p>
  )
  if (choices.length > 0)
    return (
      <fieldset aria-describedby={described}>
        <legend>{label}</legend>
        {choices.map((choice) => (
          <label class="check">
            <input
              type="radio"
              name={name}
              value={choice}
              required={isRequired}
              checked={text === choice}
            />{' '}
            <bdi>{choice}</bdi>
          </label>
        ))}
        {shown}
      </fieldset>
    )
  const shared = {
    id,
    name,
    required: isRequired,
    'aria-invalid': invalid,
    'aria-describedby': described,
  } as const
  return (
    <div>
      <label for={id}>
        <bdi>{label}</bdi>
        {kind === 'json' && ' (JSON)'}
      </label>
      {kind === 'number' ? (
        <input {...shared} type="number" step="any" value={text} />
      ) : (
        <textarea {...shared} rows={kind === 'json' ? 6 : 3}>
          {text}
        </textarea>
      )}
      {shown}
    </div>
  )
}
