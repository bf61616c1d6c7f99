import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isSecret, signatureHeaders } from '@org/agent-messaging-core/runtime'
import { nodeCrypto } from '@org/agent-messaging-core/node'
import { verify } from '@octokit/webhooks-methods'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { needs } from './test-needs.js'

type Vector = {
  readonly name: string
  readonly secret: string
  readonly nextSecret?: string
  readonly id: string
  readonly event: string
  readonly timestamp: number
  readonly body: string
  readonly headers: Record<string, string>
}
type Verifier = (
  secret: string,
  headers: Record<string, string>,
  body: Buffer,
  now?: number,
) => boolean

const read = (file: string): string =>
  readFileSync(new URL(`../docs/${file}`, import.meta.url), 'utf8')
const vectors = JSON.parse(read('signature-test-vectors.json')) as readonly Vector[]
const program = (language: string): string =>
  new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(
    read('signature-test-vectors.md'),
  )?.[1] ?? ''

const isUtf8 = ({ body }: Vector): boolean => body.length !== Buffer.byteLength(body)
const lowerCase = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
/** Changes the last character of each signature to another valid one. */
const forged = ({ headers }: Vector): Record<string, string> => ({
  ...lowerCase(headers),
  'x-service-signature':
    headers['X-Service-Signature']?.replace(/.$/, (c) => (c === '0' ? '1' : '0')) ?? '',
  'webhook-signature':
    headers['webhook-signature']?.replaceAll(/,./g, (c) => (c === ',A' ? ',B' : ',A')) ?? '',
})

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'vectors-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function inFile(name: string, content: string): string {
  const file = path.join(folder, name)
  writeFileSync(file, content)
  return file
}

it('the published vectors show every kind of secret and body, and a rotation', () => {
  expect(vectors.every(({ secret }) => isSecret(secret))).toBe(true)
  expect(
    [
      ...new Set(vectors.map(({ secret }) => Buffer.from(secret.slice(6), 'base64').length)),
    ].toSorted((a, b) => a - b),
  ).toEqual([24, 32, 64])
  expect([
    vectors.some(isUtf8),
    vectors.some((vector) => !isUtf8(vector)),
    vectors.some(({ body }) => body === '{}'),
  ]).toEqual([true, true, true])
  expect(vectors.some(({ nextSecret }) => nextSecret !== undefined)).toBe(true)
})

describe.each(vectors)('the published vector “$name” is right', (vector) => {
  const { secret, nextSecret, id, event, timestamp, body, headers } = vector
  afterEach(() => void vi.useRealTimers())

  it('by our own signer', () => {
    const { hmacSha256 } = nodeCrypto(new Uint8Array(32))
    const signed = signatureHeaders(hmacSha256, {
      id,
      event,
      body,
      secret,
      nextSecret,
      at: timestamp * 1_000 + 999,
      headerPrefix: 'X-Service',
    })
    expect(signed).toEqual(headers)
  })

  it('by @octokit/webhooks-methods', async () => {
    expect(await verify(secret, body, headers['X-Service-Signature'] ?? '')).toBe(true)
    expect(await verify(secret, `${body} `, headers['X-Service-Signature'] ?? '')).toBe(false)
  })

  it('by standardwebhooks, for each of its secrets', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: timestamp * 1_000 })
    for (const known of [secret, ...(nextSecret === undefined ? [] : [nextSecret])]) {
      expect(new StandardWebhook(known).verify(body, headers)).toEqual(JSON.parse(body))
      expect(() => new StandardWebhook(known).verify(`${body} `, headers)).toThrow(
        'No matching signature found',
      )
    }
  })

  it('by the program for Node', async () => {
    const file = inFile('verify.mjs', program('js'))
    const { isGenuine, isGenuineAndFresh } = (await import(
      /* @vite-ignore */ pathToFileURL(file).href
    )) as Record<string, Verifier>
    const bytes = Buffer.from(body)
    expect(isGenuine?.(secret, lowerCase(headers), bytes)).toBe(true)
    expect(isGenuine?.(secret, forged(vector), bytes)).toBe(false)
    expect(isGenuine?.(secret, {}, bytes)).toBe(false)
    for (const known of nextSecret === undefined ? [secret] : [secret, nextSecret]) {
      expect(isGenuineAndFresh?.(known, headers, bytes, timestamp + 300)).toBe(true)
      expect(isGenuineAndFresh?.(known, headers, bytes, timestamp + 301)).toBe(false)
      expect(isGenuineAndFresh?.(known, forged(vector), bytes, timestamp)).toBe(false)
      expect(isGenuineAndFresh?.(known, {}, bytes)).toBe(false)
    }
  })

  it.each([undefined, '', 'whsec_'])(
    'and the program for Node refuses the secret %j',
    async (bad) => {
      const file = inFile('verify.mjs', program('js'))
      const { isGenuine, isGenuineAndFresh } = (await import(
        /* @vite-ignore */ pathToFileURL(file).href
      )) as Record<string, Verifier>
      for (const verify of [isGenuine, isGenuineAndFresh])
        expect(() => verify?.(bad as string, headers, Buffer.from(body))).toThrow(
          'the secret must be',
        )
    },
  )

  it('by the program for Python', needs('python'), () => {
    const ask = `
import json, sys
v = json.load(sys.stdin)
body, now = v["body"].encode(), v["timestamp"]
known = [v["secret"]] + ([v["nextSecret"]] if "nextSecret" in v else [])
answers = [is_genuine(v["secret"], v["headers"], body), not is_genuine(v["secret"], v["forged"], body), not is_genuine(v["secret"], {}, body)]
for secret in known:
    answers += [is_genuine_and_fresh(secret, v["headers"], body, now), not is_genuine_and_fresh(secret, v["headers"], body, now + 301)]
    answers += [not is_genuine_and_fresh(secret, v["forged"], body, now), not is_genuine_and_fresh(secret, v["headers"], body)]
for bad in [None, "", "whsec_"]:
    for verify in [is_genuine, is_genuine_and_fresh]:
        try:
            verify(bad, v["headers"], body)
            answers.append(False)
        except ValueError:
            answers.append(True)
print(json.dumps(answers))`
    const input = JSON.stringify({ ...vector, headers: lowerCase(headers), forged: forged(vector) })
    const answers = JSON.parse(
      execFileSync('python3', ['-c', program('python') + ask], { input, encoding: 'utf8' }),
    ) as boolean[]
    expect(answers.length).toBe(nextSecret === undefined ? 13 : 17)
    expect(answers.every(Boolean)).toBe(true)
  })

  it('by openssl, in the program for the shell', needs('openssl'), () => {
    inFile('body', body)
    const signatures = [nextSecret, secret].flatMap((known) => {
      if (known === undefined) return []
      const env = {
        PATH: process.env['PATH'],
        SECRET: known,
        WEBHOOK_ID: id,
        WEBHOOK_TIMESTAMP: String(timestamp),
      }
      const [own, standard] = execFileSync('sh', ['-ec', program('sh')], {
        cwd: folder,
        env,
        encoding: 'utf8',
      }).split('\n')
      return [{ own, standard }]
    })
    expect(signatures.at(-1)?.own).toBe(headers['X-Service-Signature'])
    expect(signatures.map(({ standard }) => standard).join(' ')).toBe(headers['webhook-signature'])
  })
})
