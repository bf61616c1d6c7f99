import { type Agent, type SendInput } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { textIn, type Form } from './form.js'
import { Problem } from './parts.js'
import type { ConsoleDeps } from './context.js'
import { problemText } from './problem.js'

/** What was filled in, and why it was not sent if it was not. */
export type Draft = {
  readonly agent: string
  readonly sessionId: string
  readonly message: string
  readonly endUserId: string
  readonly metadata: string
  readonly problem?: string
}

/** Sends what the form holds, without waiting for the answer. */
export async function sendFrom(
  { service }: ConsoleDeps,
  to: Pick<SendInput, 'projectId' | 'agent' | 'sessionId'>,
  form: Form,
): Promise<Draft> {
  const draft = {
    ...to,
    message: textIn(form, 'message'),
    endUserId: textIn(form, 'endUserId').trim(),
    metadata: textIn(form, 'metadata').trim(),
  }
  const metadata = parse(draft.metadata)
  if (metadata === undefined)
    return { ...draft, problem: 'Metadata has to be a JSON object, such as {"channel": "web"}' }
  const sent = await service.messages.send({
    ...{
      ...to,
      message: draft.message,
      metadata: draft.metadata === '' ? undefined : metadata,
      waitMs: 0,
    },
    ...(draft.endUserId !== '' && {
      executionPrincipal: { type: 'end_user', endUserId: draft.endUserId },
    }),
  })
  return sent.isErr() ? { ...draft, problem: problemText(sent.error) } : draft
}

function parse(text: string) {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** `session`: where it is asked for, what to begin with. */
type FormProps = {
  readonly action: string
  readonly agent: Agent
  readonly draft?: Draft | undefined
  readonly session?: string
}

export function SendForm({ action, agent, draft, session }: FormProps) {
  const needsUser = agent.defaultExecutionPrincipal.type === 'end_user'
  return (
    <form method="post" action={action} class="stack">
      <Problem text={draft?.problem} />
      <input type="hidden" name="agent" value={agent.name} />
      {session !== undefined && (
        <div>
          <label for="sessionId">Session</label>
          <input
            id="sessionId"
            name="sessionId"
            required
            maxlength={256}
            value={draft?.sessionId ?? session}
            placeholder="a name of your choice"
            autocomplete="off"
          />
        </div>
      )}
      <div>
        <label for="message">Message</label>
        <textarea id="message" name="message" required rows={3}>
          {draft?.message ?? ''}
        </textarea>
      </div>
      <div>
        <label for="endUserId">
          On behalf of end user{' '}
          <span class="muted">
            {needsUser ? '(this agent acts for end users)' : '(empty: the service itself)'}
          </span>
        </label>
        <input
          id="endUserId"
          name="endUserId"
          required={needsUser}
          value={draft?.endUserId ?? ''}
          autocomplete="off"
        />
      </div>
      <details open={draft !== undefined && draft.metadata !== ''}>
        <summary>Metadata</summary>
        <label for="metadata">A JSON object that goes along, into the webhooks too</label>
        <textarea
          id="metadata"
          name="metadata"
          rows={3}
          placeholder={'{"channel": "web"}'}
          spellcheck={false}
        >
          {draft?.metadata ?? ''}
        </textarea>
      </details>
      <p class="buttons">
        <button class="primary">Send</button>
        {agent.state.kind === 'running' ? null : (
          <span class="muted">
            {agent.name} is {agent.state.kind}: it takes no messages now.
          </span>
        )}
      </p>
    </form>
  )
}
