import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { isSecret } from '@org/agent-messaging-core/runtime'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// The receivers of the pages for teams that come from another product.

const PAGES = ['from-svix', 'from-outpost', 'from-convoy', 'from-a-job-queue']
const BUILD = fileURLToPath(new URL('../build/docs-moves', import.meta.url))
/** Has the form of the secrets that Outpost makes in its default mode. */
const SECRET = `whsec_${'0a1b2c3d'.repeat(8)}`

type Headers = Readonly<Record<string, string>>
type Receiver = {
  readonly eventOf?: (body: string, headers: Headers, secret: string) => unknown
  readonly isGenuine?: (body: string, headers: Headers, secret: string) => boolean
}

beforeAll(() => mkdirSync(BUILD, { recursive: true }))
afterAll(() => rmSync(BUILD, { recursive: true }))

const receivers = PAGES.flatMap((page) => {
  const text = readFileSync(new URL(`../docs/${page}.md`, import.meta.url), 'utf8')
  const pieces = [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)]
  return pieces.map(([, code = ''], n) => ({ name: `${page}-${n}`, code }))
})

describe('the receivers of the pages for moving', () => {
  it('are on each page', () => {
    const pages = receivers.map(({ name }) => name.replace(/-\d$/, ''))
    expect(new Set(pages)).toEqual(new Set(PAGES))
  })

  it.each(receivers)('$name accepts our request, and no changed one', async ({ name, code }) => {
    writeFileSync(`${BUILD}/${name}.mjs`, code)
    const { eventOf, isGenuine } = (await import(`${BUILD}/${name}.mjs`)) as Receiver
    const data = { invoice: 1017 }
    const event = { event: 'invoice.paid', id: 'e', createdAt: '2030-01-31T12:00:00.000Z', data }
    const signed = await signTestEvent(event, SECRET)
    const headers = Object.fromEntries(new Headers(signed.headers))
    if (isGenuine) {
      expect(isGenuine(signed.body, headers, SECRET)).toBe(true)
      expect(isGenuine(`${signed.body} `, headers, SECRET)).toBe(false)
    } else {
      const expected = { type: 'invoice.paid', id: 'e', data }
      expect(eventOf?.(signed.body, headers, SECRET)).toEqual(expected)
      expect(() => eventOf?.(`${signed.body} `, headers, SECRET)).toThrow('signature')
    }
  })

  it('can keep the secret that Outpost makes by default', () => {
    expect(isSecret(SECRET)).toBe(true)
  })
})
