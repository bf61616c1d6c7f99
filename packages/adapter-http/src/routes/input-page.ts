import {
  answerFields,
  answerOfForm,
  errorIn,
  type AnswerField,
  type LinkedInput,
} from '@org/agent-messaging-core/host'
import { openInput } from '@org/agent-messaging-core/storage'
import {
  answerFieldsHtml,
  errorCodes,
  type HttpError,
  type PortalLook,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { html } from 'hono/html'
import type { Env, RouteContext } from '../env.js'
import { errorBody } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { inputScript, inputStyle } from '../reference/input-page.js'
import { document, each, nothing, type Html } from '../reference/text.js'

/** Takes the longest answer in any alphabet, with room for one that is too long. */
const MAX_BYTES = 512 * 1024
/** No question takes an answer of so many. Showing 100,000 texts would block the process. */
const MOST_TEXTS = 2_000
/** A longer conversation is folded, so that the form is in sight. */
const UNFOLDED = 3

/** The page has no content from other hosts, and sends its form to itself. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/**
 * The page of a one-time link, for people without an API key. A GET changes nothing, because mail
 * programs and chats open links. The form sends the answer. If an answer is not stored, the next
 * page has its texts.
 */
export const inputPageRoutes = ({ service, look = {} }: HttpDeps) => {
  const { accent, logo } = look
  const color = accent ? `:root { --link: light-dark(${accent.light}, ${accent.dark}) }` : ''
  const files: Readonly<Record<string, readonly [type: string, body: BodyInit]>> = {
    'page.css': ['text/css; charset=utf-8', inputStyle + color],
    'page.js': ['text/javascript; charset=utf-8', inputScript],
    ...(logo && { logo: [logo.type, logo.bytes] as const }),
  }
  const show = (c: RouteContext, status: number, page: Shown) =>
    reply(c, status, 'text/html; charset=utf-8', async () => String(await shell(look, page)))

  /** Shows the question, or why it takes no answer. */
  const showLinked = (c: RouteContext, status: number, linked: LinkedInput, given: Given = {}) => {
    const closed = closedText(linked, service.host.now())
    return show(
      c,
      status,
      closed
        ? { title: 'No answer needed', body: html`<p>${closed}</p>${keptHtml(given, linked)}` }
        : {
            title: status === 200 ? titleOf(look) : `Not sent: ${titleOf(look)}`,
            body: questionHtml(linked, given, look),
          },
    )
  }
  const showFailed = (c: RouteContext, error: HttpError, given: Given = {}) => {
    const { code, message } = errorBody(error)
    const body = html`<p>${message}.</p>${error.kind === 'unavailable' && retryHtml(given)}${keptHtml(given)}`
    return show(c, errorCodes[code].status, { title: 'No answer possible', body })
  }
  return new Hono<Env>()
    .get('/inputs/:file', (c, next) => {
      const name = c.req.param('file')
      const file = Object.hasOwn(files, name) ? files[name] : undefined
      return file ? reply(c, 200, file[0], async () => file[1]) : next()
    })
    .get('/inputs/:messageId/:token', (c) =>
      service.host.readByLink(linkOf(c)).then(
        (linked) => showLinked(c, 200, linked),
        (thrown) => showFailed(c, errorIn(thrown)),
      ),
    )
    .post(
      '/inputs/:messageId/:token',
      bodyLimit({
        maxSize: MAX_BYTES,
        onError: (c) => showFailed(c, { kind: 'body_too_large', maxBytes: MAX_BYTES }),
      }),
      async (c) => {
        const link = linkOf(c)
        const found = await service.host.readByLink(link).catch(errorIn)
        const sent = [...new URLSearchParams(await c.req.text())]
        const form = new URLSearchParams(sent.slice(0, MOST_TEXTS))
        // Another site cannot make this page show its text.
        const isOwn = c.req.header('sec-fetch-site') !== 'cross-site'
        const given: Given = isOwn ? { form } : {}
        if ('kind' in found) return showFailed(c, found, given)
        const { value, problems } = answerOfForm(found.input, (name) => form.getAll(name))
        if (Object.keys(problems).length > 0)
          return showLinked(c, 400, found, { ...given, problems })
        try {
          const { inputs } = await service.host.answerByLink({ ...link, value })
          const answer = inputs?.find(({ id }) => id === found.input.id)?.answer
          return await show(c, 200, {
            title: 'Thank you',
            body: receiptHtml(found, form, answer?.answeredAt ?? service.host.now()),
          })
        } catch (thrown) {
          const error = errorIn(thrown)
          const { code, message } = errorBody(error)
          const problem =
            error.kind === 'invalid'
              ? `Your answer ${error.issues.map((issue) => issue.message).join('; ')}.`
              : `${message}. Your answer was not stored yet. Send it again.`
          const now = await service.host.readByLink(link).catch(() => found)
          return showLinked(c, errorCodes[code].status, now, { ...given, problem })
        }
      },
    )
}

/** What a person has sent, and what is wrong with it. */
type Given = {
  readonly form?: URLSearchParams
  readonly problems?: Readonly<Record<string, string>>
  readonly problem?: string
}
type Shown = { readonly title: string; readonly body: Html }

const linkOf = (c: RouteContext) => ({
  messageId: c.req.param('messageId') ?? '',
  token: c.req.param('token') ?? '',
})

const titleOf = ({ name }: PortalLook): string =>
  name === undefined ? 'A question for you' : `${name} asks you`

/** Returns why the question takes no answer, or undefined. */
function closedText({ message, input }: LinkedInput, now: number): Html | undefined {
  const { state } = message
  if (input.answer)
    return html`This question has its answer since ${timeHtml(input.answer.answeredAt)}.`
  const isOpen =
    state.kind === 'input_required' && now < state.deadlineAt && openInput(message)?.id === input.id
  return isOpen ? undefined : html`This question no longer takes an answer.`
}

function questionHtml(
  { agentName, message, input }: LinkedInput,
  given: Given,
  look: PortalLook,
): Html {
  const { form, problems, problem } = given
  const { context = [], onExpiry = 'fail' } = input
  const until = message.state.kind === 'input_required' && timeHtml(message.state.deadlineAt)
  const agent = html`<bdi>${agentName}</bdi>`
  return html`<p>${agent}${look.name !== undefined && html`, an assistant of <bdi>${look.name}</bdi>,`} waits for your answer until ${until}.</p>
    <section>${textHtml(input.question)}</section>
    ${
      context.length > 0 &&
      html`<details${context.length <= UNFOLDED && html` open`}>
      <summary>The conversation before</summary>
      ${each(
        context,
        ({
          message: said,
          response,
        }) => html`<div class="said"><small>Message</small>${textHtml(said)}</div>
        ${response !== undefined && html`<div class="said own"><small>${agent}</small>${textHtml(response)}</div>`}`,
      )}
    </details>`
    }
    ${problem !== undefined && html`<p class="problem" role="alert" tabindex="-1" autofocus>${problem}</p>`}
    <form method="post" novalidate>
      ${answerFieldsHtml(answerFields(input), { texts: form && ((name) => form.getAll(name)), problems })}
      <p class="problem" role="alert" hidden></p>
      <p><button type="submit">Send the answer</button></p>
    </form>
    <h2>What happens next</h2>
    <ul>
      <li>${agent} gets your answer, and continues with it.</li>
      <li>The first answer counts. You cannot change it later.</li>
      <li>Without an answer by ${until}, ${
        onExpiry === 'fail'
          ? 'the request ends.'
          : html`this answer counts: <b dir="auto">${typeof onExpiry.answer === 'string' ? onExpiry.answer : JSON.stringify(onExpiry.answer)}</b>`
      }</li>
    </ul>`
}

const receiptHtml = ({ agentName, input }: LinkedInput, form: URLSearchParams, at: number): Html =>
  html`<p role="status" data-stored>Your answer is stored. It arrived on ${timeHtml(at)}. <bdi>${agentName}</bdi> continues with it. You can close this page.</p>
    <section><h2>The question</h2>${textHtml(input.question)}</section>
    <section><h2>Your answer</h2>${textsHtml(form, answerFields(input))}</section>`

/** Shows the texts that are not stored. */
const keptHtml = ({ form }: Given, linked?: LinkedInput): Html =>
  form && form.size > 0
    ? html`<section><h2>What you wrote</h2>
        <p>It was not stored. Copy it if you need it.</p>
        ${textsHtml(form, linked ? answerFields(linked.input) : [])}</section>`
    : nothing

const textsHtml = (form: URLSearchParams, fields: readonly AnswerField[]): readonly Html[] =>
  each([...form], ([name, text]) => {
    const field = fields.find((one) => one.name === name)
    const choice = field?.choices.find((one) => one.text === text)
    return html`<p><small><bdi>${field?.label ?? name.replace(/^value\.?/, '')}</bdi></small></p>
      <pre dir="auto">${choice?.label ?? text}</pre>`
  })

/** Sends the same texts again. */
const retryHtml = ({ form }: Given): Html =>
  form
    ? html`<form method="post">
        ${each(
          [...form],
          ([name, text]) => html`<textarea name="${name}" hidden>
${text}</textarea>`,
        )}
        <p><button type="submit">Send it again</button></p>
      </form>`
    : nothing

const textHtml = (text: string): readonly Html[] =>
  each(text.split('\n'), (line) => html`<p dir="auto">${line}</p>`)

const TIME = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'full',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** The script shows the time in the zone of the reader. */
const timeHtml = (at: number): Html =>
  html`<time datetime="${new Date(at).toISOString()}">${TIME.format(at)} UTC</time>`

const shell = ({ name, logo }: PortalLook, { title, body }: Shown): Html =>
  document(
    title,
    '../../docs/style.css',
    html`<link rel="stylesheet" href="../page.css" /><script src="../page.js" defer></script>
      <main id="main" tabindex="-1">
        ${(name ?? logo) !== undefined && html`<p class="sender">${logo && html`<img src="../logo" alt="" />`} <bdi>${name}</bdi></p>`}
        <h1>${title}</h1>${body}
      </main>`,
  )

const reply = async (
  c: RouteContext,
  status: number,
  type: string,
  body: () => Promise<BodyInit>,
) =>
  new Response(await body(), {
    status,
    headers: {
      'Content-Type': type,
      'Cache-Control': 'no-store',
      'X-Request-Id': c.get('requestId'),
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'X-Robots-Tag': 'noindex',
    },
  })
