import { randomUUID } from 'node:crypto'
import type { Agent, SendInput } from '@org/agent-messaging-core'
import { isJsonObject, parseJsonText } from '@org/agent-messaging-core/runtime'
import { errorIn } from '@org/agent-messaging-core/host'
import { type Form, textIn } from '../parts/input.js'
import { Fields, PostForm } from '../parts/fields.js'
import type { ConsoleDeps } from '../context.js'
import { problemText } from '../parts/texts.js'

/** The contents of the form, and the reason if the message was not sent. */
export type Draft = {
  readonly agent: string
  readonly sessionId: string
  readonly message: string
  readonly endUserId: string
  readonly metadata: string
  /** The same for every press of the button on one page. */
  readonly formId: string
  readonly problem?: string
}

/** Sends the message of the form without waiting for its answer. */
export async function sendFrom(
  { service, crypto }: ConsoleDeps,
  to: Pick<SendInput, 'projectId' | 'agent' | 'sessionId'>,
  form: Form,
): Promise<Draft> {
  const draft = {
    ...to,
    message: textIn(form, 'message'),
    endUserId: textIn(form, 'endUserId').trim(),
    metadata: textIn(form, 'metadata').trim(),
    formId: textIn(form, 'formId'),
  }
  const metadata = parseObject(draft.metadata)
  if (metadata === undefined)
    return { ...draft, problem: 'Metadata must be a JSON object, such as {"channel": "web"}' }
  const sending = service.messages.send({
    ...to,
    message: draft.message,
    metadata: draft.metadata === '' ? undefined : metadata,
    waitMs: 0,
    // A changed text is another message, also from the same form.
    idempotencyKey:
      draft.formId === '' ? undefined : `console-${crypto.sha256(JSON.stringify(draft))}`,
    ...(draft.endUserId !== '' && {
      executionPrincipal: { type: 'end_user', endUserId: draft.endUserId },
    }),
  })
  return sending.then(
    () => draft,
    (thrown) => ({ ...draft, problem: problemText(errorIn(thrown)) }),
  )
}

function parseObject(text: string) {
  try {
    const value = parseJsonText(text === '' ? '{}' : text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

type FormProps = {
  readonly action: string
  readonly agent: Agent
  readonly draft?: Draft | undefined
  /** The suggested session. Without it, the form has no field for the session. */
  readonly session?: string
}

const METADATA = {
  metadata: {
    label: 'JSON object, included in webhooks',
    rows: 3,
    placeholder: '{"channel": "web"}',
    spellcheck: false,
  },
}

export function SendForm({ action, agent, draft, session }: FormProps) {
  const needsUser = agent.defaultExecutionPrincipal.type === 'end_user'
  return (
    <PostForm
      action={action}
      problem={draft?.problem}
      fields={{
        sessionId: session !== undefined && {
          label: 'Session',
          required: true,
          maxlength: 256,
          placeholder: 'any name',
          autocomplete: 'off',
        },
        message: { label: 'Message', required: true, rows: 3 },
        endUserId: {
          label: (
            <>
              End user{' '}
              <span class="muted">
                {needsUser ? '(required: this agent acts for end users)' : '(empty: the service)'}
              </span>
            </>
          ),
          required: needsUser,
          autocomplete: 'off',
        },
      }}
      values={{ sessionId: session, ...draft }}
      button="Send"
      beside={
        agent.state.kind === 'running' ? null : (
          <span class="muted">
            {agent.name} is {agent.state.kind} and accepts no messages.
          </span>
        )
      }
    >
      <input type="hidden" name="agent" value={agent.name} />
      <input type="hidden" name="formId" value={draft?.formId || randomUUID()} autocomplete="off" />
      <details open={draft !== undefined && draft.metadata !== ''}>
        <summary>Metadata</summary>
        <Fields fields={METADATA} values={{ ...draft }} />
      </details>
    </PostForm>
  )
}
