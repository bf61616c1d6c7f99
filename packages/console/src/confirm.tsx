import type { Webhook } from '@org/agent-messaging-core'
import type { Child } from 'hono/jsx'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from './context.js'
import { type Count, countMatching, countText } from './parts/parts.js'
import { webhookRef } from './parts/input.js'
import { type Page, show, need } from './parts/layout.js'

/**
 * Asks before an action that is hard to take back. Each page lists the consequences, the number of
 * deliveries and the task of the receiver. The pages are plain forms, so they need no script.
 */
export const confirmRoutes = ({ service }: ConsoleDeps) =>
  newRoutes().get(
    '/webhooks/:id/:action{rotate|disable|delete}',
    need('webhooks.update'),
    async (c) => {
      const ref = webhookRef(c)
      const webhook = await service.webhooks.get(ref)
      const open = await countMatching(service, { ...ref, status: 'pending' })
      return confirmPage(c, { webhook, open }, c.req.param('action') as keyof typeof ACTIONS)
    },
  )

type Consequences = { readonly webhook: Webhook; readonly open: Count }
type Action = {
  readonly title: string
  readonly button: string
  readonly consequences: (of: Consequences) => Child
}

const waiting = ({ open }: Consequences) =>
  open.count === 0
    ? 'none waits now'
    : `${countText(open, 'delivery waits', 'deliveries wait')} now`

const ACTIONS = {
  rotate: {
    title: 'Rotate the secret of this webhook?',
    button: 'Rotate secret',
    consequences: (of) => (
      <>
        <li>The next page shows a new secret, and only once.</li>
        <li>
          For one day, the Standard Webhooks header has a signature of each secret, and the other
          header stays signed with the old one. Then the old secret stops. This also counts for
          deliveries that wait: {waiting(of)}.
        </li>
        <li>
          <strong>The receiver</strong> must know the new secret within that day. Let it accept both
          until you finish the rotation.
        </li>
        {of.webhook.previousSecret && (
          <li>
            An earlier rotation is not finished. Its oldest secret stops at once, so a receiver that
            knows only that secret refuses every delivery.
          </li>
        )}
      </>
    ),
  },
  disable: {
    title: 'Disable this webhook?',
    button: 'Disable',
    consequences: (of) => (
      <>
        <li>The receiver gets no requests until you enable the webhook.</li>
        <li>
          New deliveries are kept up to a limit of number and time, and then cancelled. This also
          counts for deliveries that wait: {waiting(of)}. To keep all of them, pause the webhook
          instead.
        </li>
        <li>
          <strong>The receiver</strong> has nothing to do. After you enable the webhook, one kept
          delivery is sent first, then the rest.
        </li>
      </>
    ),
  },
  delete: {
    title: 'Delete this webhook?',
    button: 'Delete webhook',
    consequences: (of) => (
      <>
        <li>The webhook gets no more requests. You cannot undo this.</li>
        <li>Waiting deliveries are cancelled: {waiting(of)}. Past deliveries stay on record.</li>
        <li>
          Its secret is deleted. <strong>The receiver</strong> can remove its copy. A webhook that
          you register later has another secret.
        </li>
        <li>To stop deliveries for a while, pause the webhook instead.</li>
      </>
    ),
  },
} as const satisfies Readonly<Record<string, Action>>

function confirmPage(c: PageRequest, of: Consequences, action: keyof typeof ACTIONS) {
  const { id, url, description } = of.webhook
  const { title, button, consequences } = ACTIONS[action]
  const path = `${BASE}/webhooks/${id}`
  return askPage(
    c,
    {
      title: button,
      section: 'Webhooks',
      question: title,
      path: `${path}/${action}`,
      button,
      back: path,
    },
    <>
      {description !== undefined && <p>{description}</p>}
      <p class="url">{url}</p>
      <ul class="consequences">{consequences(of)}</ul>
    </>,
  )
}

type Question = Page & {
  readonly question: Child
  /** Gets the form. */
  readonly path: string
  readonly button: string
  readonly back: string
}

/** Asks before an action. The children are its consequences. */
export const askPage = (
  c: PageRequest,
  { question, path, button, back, ...page }: Question,
  children: Child,
) =>
  show(
    c,
    page,
    <form method="post" action={path} class="narrow card stack">
      <h1>{question}</h1>
      {children}
      <p class="buttons">
        <button class="danger">{button}</button>
        <a class="button" href={back}>
          Cancel
        </a>
      </p>
    </form>,
  )
