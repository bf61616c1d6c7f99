import {
  answerFields,
  answerOfForm,
  errorIn,
  type LinkedInput,
  type AnswerField,
} from '@org/agent-messaging-core/host'
import { errorCodes, type HttpError } from '@org/agent-messaging-http-kit'
import { Hono, type Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { html } from 'hono/html'
import type { Env } from '../env.js'
import { errorBody, refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { document, each, nothing, type Html } from '../reference/text.js'

const MAX_BYTES = 64 * 1024

/** The page has no scripts and no content from other hosts, and sends its form to itself. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/**
 * The page of a one-time link, for people without an API key. A GET changes nothing, because mail
 * programs and chats open links. The form sends the answer.
 */
export const inputPageRoutes = ({ service }: HttpDeps) =>
  new Hono<Env>()
    .get('/inputs/:messageId/:token', async (c) => {
      const found = service.host.readByLink(linkOf(c))
      return found.then(
        (linked) => replyPage(c, 200, pageOf(linked)),
        (thrown) => refusePage(c, errorIn(thrown)),
      )
    })

    .post(
      '/inputs/:messageId/:token',
      bodyLimit({
        maxSize: MAX_BYTES,
        onError: (c) => refuse(c, { kind: 'body_too_large', maxBytes: MAX_BYTES }),
      }),
      async (c) => {
        const link = linkOf(c)
        const found = await service.host.readByLink(link).catch(errorIn)
        if ('kind' in found) return refusePage(c, found)
        const form = new URLSearchParams(await c.req.text())
        const value = answerOfForm(found.input, (name) => form.get(name) ?? undefined)
        try {
          await service.host.answerByLink({ ...link, value })
          return await replyPage(c, 200, message('Thank you', 'Your answer is stored.'))
        } catch (thrown) {
          const error = errorIn(thrown)
          if (error.kind !== 'invalid') return refusePage(c, error)
          const problem = error.issues.map((issue) => issue.message).join('; ')
          return replyPage(c, 400, pageOf(found, `The answer ${problem}.`))
        }
      },
    )

const linkOf = (c: Context<Env>) => ({
  messageId: c.req.param('messageId') ?? '',
  token: c.req.param('token') ?? '',
})

function pageOf({ message: { state }, input }: LinkedInput, problem?: string): Html {
  if (input.answer) return message('Answered', 'This question has its answer.')
  if (state.kind !== 'input_required')
    return message('Closed', 'This question no longer takes an answer.')
  return shell(
    'A question for you',
    html`${each(input.question.split('\n'), (line) => html`<p>${line}</p>`)}
      ${problem === undefined ? nothing : html`<p role="alert">${problem}</p>`}
      <form method="post">
        ${each(answerFields(input), fieldHtml)}
        <p><button type="submit">Send the answer</button></p>
      </form>`,
  )
}

function fieldHtml({ name, label, kind, choices, isRequired }: AnswerField): Html {
  const required = isRequired ? html` required` : nothing
  if (choices.length > 0)
    return html`<fieldset>
      <legend>${label}</legend>
      ${each(choices, (choice) => html`<p><label><input type="radio" name="${name}" value="${choice}"${required} /> ${choice}</label></p>`)}
    </fieldset>`
  const control =
    kind === 'number'
      ? html`<input type="number" step="any" name="${name}"${required} />`
      : html`<textarea name="${name}" rows="4" cols="60"${required}></textarea>`
  const hint = kind === 'json' ? html` (JSON)` : nothing
  return html`<p><label>${label}${hint}<br />${control}</label></p>`
}

const message = (title: string, text: string): Html => shell(title, html`<p>${text}</p>`)

const shell = (title: string, body: Html): Html =>
  document(title, '../../docs/style.css', html`<main id="main"><h1>${title}</h1>${body}</main>`)

function refusePage(c: Context<Env>, error: HttpError) {
  const { code, message: text } = errorBody(error)
  return replyPage(c, errorCodes[code].status, message('No answer possible', `${text}.`))
}

const replyPage = async (c: Context<Env>, status: number, page: Html) =>
  new Response(String(await page), {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Request-Id': c.get('requestId'),
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'X-Robots-Tag': 'noindex',
    },
  })
