import { unwrap } from '@org/agent-messaging-testing'
import type { JsonObject } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { parseOpenaiOptions, separateSecrets } from './openai-options.js'

const required = { baseUrl: 'https://models.example/v1', model: 'small' }
const problemOf = (options: JsonObject) => {
  const parsed = parseOpenaiOptions(options)
  return parsed.ok ? undefined : parsed.error
}

describe('options of an openai agent', () => {
  it('can be shown without the key and the headers', () => {
    const shown = {
      ...required,
      systemPrompt: 'Be kind.',
      temperature: 0.5,
      maxTokens: 9,
      maxCompletionTokens: 9,
      timeoutMs: 30_000,
      history: { maxTurns: 5, maxLength: 0 },
      sendUser: 'user',
      stream: false,
    }
    const secrets = { apiKey: 'sk-secret', headers: { 'X-Tenant': 'secret' } }
    const parted = separateSecrets(unwrap(parseOpenaiOptions({ ...shown, ...secrets })))
    expect(parted).toEqual({
      options: { ...shown, apiKey: { set: true }, headers: { set: true } },
      secrets,
    })
    expect(JSON.stringify(parted.options)).not.toMatch(/secret|Tenant/)
  })

  it('need only a baseUrl and a model', () => {
    expect(separateSecrets(unwrap(parseOpenaiOptions(required)))).toEqual({
      options: required,
      secrets: {},
    })
  })

  it('have a baseUrl without a trailing slash', () => {
    expect(
      unwrap(parseOpenaiOptions({ ...required, baseUrl: 'https://models.example/v1//' })).baseUrl,
    ).toBe(required.baseUrl)
    const inside = `https://models.example/${'/'.repeat(500_000)}v1`
    expect(unwrap(parseOpenaiOptions({ ...required, baseUrl: inside })).baseUrl).toBe(inside)
  })

  it.each<[JsonObject, string]>([
    [{ baseUrl: 7 }, 'baseUrl must be a string'],
    [{ baseUrl: 'https://models.example/v1?api-version=1' }, 'baseUrl must not contain a query'],
    [
      { baseUrl: 'https://models.example/v1/chat/completions' },
      'baseUrl must end before /chat/completions',
    ],
    [{ model: null }, 'model must be a string'],
    [{ model: '' }, 'model must not be empty'],
    [{ model: 'm'.repeat(257) }, 'model must have at most 256 characters'],
    [{ apiKey: 7 }, 'apiKey must be a string'],
    [{ apiKey: { set: true } }, 'apiKey must be a string'],
    [{ apiKey: '' }, 'apiKey must not be empty'],
    [{ apiKey: 'a\r\nb: c' }, 'apiKey must contain only visible ASCII characters'],
    [{ systemPrompt: 'y'.repeat(65_537) }, 'systemPrompt must have at most 65536 characters'],
    [{ temperature: '1' }, 'temperature must be a number'],
    [{ temperature: -0.1 }, 'temperature must be at least 0'],
    [{ temperature: 2.1 }, 'temperature must be at most 2'],
    [{ maxTokens: 0 }, 'maxTokens must be at least 1'],
    [{ maxTokens: 1.5 }, 'maxTokens must be a whole number'],
    [{ history: 7 }, 'history must be an object'],
    [{ history: { maxTurns: 1_001 } }, 'history.maxTurns must be at most 1000'],
    [{ history: { maxLength: -1 } }, 'history.maxLength must be at least 0'],
    [{ history: { maxChars: 1 } }, 'history.maxChars is not an option of openai agents'],
    [{ timeoutMs: 0 }, 'timeoutMs must be at least 1'],
    [{ sendUser: true }, 'sendUser must be false, "safety_identifier" or "user"'],
    [{ headers: { Host: 'x' } }, 'headers.Host is set by the service itself'],
    [{ stream: 'no' }, 'stream must be true or false'],
    [{ tools: [] }, 'tools is not an option of openai agents'],
  ])('%j: %s', (options, problem) => expect(problemOf({ ...required, ...options })).toBe(problem))
})
