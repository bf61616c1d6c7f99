import { describe, expect, it } from 'vitest'
import { answerProblem, isSameQuestion, parseQuestion, reminderAt } from './message-input.js'

const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) })

describe('parseQuestion', () => {
  it('takes a question with all fields, and leaves out others', () => {
    const question = {
      question: 'Pay?',
      options: ['yes', 'no'],
      schema: { type: 'string' },
      answerBy: 'execution_principal',
      context: [{ message: 'Buy it', response: 'For 12 EUR?' }, { message: 'Yes' }],
      expiresInMs: 1_000,
      onExpiry: { answer: 'no' },
    }
    const parsed = parseQuestion({ ...question, other: 1 })
    expect(parsed).toEqual({ kind: 'input_required', ...question })
    expect(parseQuestion({ question: 'Pay?', onExpiry: 'fail', context: [] })).toEqual({
      kind: 'input_required',
      question: 'Pay?',
    })
  })

  it('takes the turns of a history as the context, and keeps only their texts', () => {
    const turn = { messageId: 'm', message: 'Buy it', response: 'For 12 EUR?' }
    expect(parseQuestion({ question: 'Pay?', context: [turn] })).toMatchObject({
      context: [{ message: 'Buy it', response: 'For 12 EUR?' }],
    })
    const full = Array.from({ length: 20 }, () => ({ message: 'é'.repeat(1_600) }))
    expect(parseQuestion({ question: 'Pay?', context: full })).toMatchObject({ context: full })
  })

  it.each<[string, unknown]>([
    ['is not an object', 'Pay?'],
    ['has no text', { question: '' }],
    ['has no text', { question: 1 }],
    ['has more than 8192 characters', { question: 'x'.repeat(8_193) }],
    ['holds NUL or a lone surrogate', { question: '\0' }],
    ['has options that are not a list of 1 to 50 texts', { question: 'q', options: [] }],
    ['has an option that is not a text of 1 to 256 characters', { question: 'q', options: [''] }],
    ['has the same option twice', { question: 'q', options: ['a', 'a'] }],
    ['has a schema that is not an object', { question: 'q', schema: true }],
    ['has a schema with $ref, which is not supported', { question: 'q', schema: { $ref: '#' } }],
    [
      'has a schema with pattern, which is not supported',
      { question: 'q', schema: { properties: { a: { allOf: [{ pattern: '(a+)+$' }] } } } },
    ],
    ['has a schema that is not valid', { question: 'q', schema: { enum: 1 } }],
    ['has a schema that is nested too deeply', { question: 'q', schema: deep(17) }],
    [
      'has a schema with more than 8192 characters as JSON',
      { question: 'q', schema: { description: 'x'.repeat(8_192) } },
    ],
    ['has an expiresInMs that is not between 1 and 31536000000', { question: 'q', expiresInMs: 0 }],
    ['has an answerBy that is not execution_principal', { question: 'q', answerBy: 'me' }],
    ['has a context that is not a list of at most 20 messages', { question: 'q', context: {} }],
    [
      'has a context that is not a list of at most 20 messages',
      { question: 'q', context: Array.from({ length: 21 }, () => ({ message: 'm' })) },
    ],
    ...[{}, null, { message: '\0' }, { message: 'm', response: 1 }].map((one): [string, object] => [
      'has a context whose entries are not messages with a text and a response',
      { question: 'q', context: [one] },
    ]),
    [
      'has a context of more than 65536 bytes as JSON',
      { question: 'q', context: [{ message: 'é'.repeat(32_768) }] },
    ],
    [
      'has an onExpiry that is neither "fail" nor an object with an answer',
      { question: 'q', onExpiry: {} },
    ],
    [
      'has an onExpiry answer that must be one of "a"',
      { question: 'q', options: ['a'], onExpiry: { answer: 'b' } },
    ],
  ])('says that a question %s', (problem, question) => {
    expect(parseQuestion(question)).toBe(problem)
  })

  it('allows properties with the names of refused keywords', () => {
    const schema = { type: 'object', properties: { pattern: { type: 'string' } } }
    expect(parseQuestion({ question: 'q', schema })).toMatchObject({ schema })
  })
})

describe('answerProblem', () => {
  const order = {
    type: 'object',
    properties: { number: { type: 'integer', minimum: 1 } },
    required: ['number'],
  }
  it.each([
    [undefined, {}, 'text'],
    ['must be a text', {}, ''],
    ['must be a text', {}, 1],
    ['is required', {}, undefined],
    ['holds NUL or a lone surrogate', {}, '\uD800'],
    ['must have at most 16384 characters as JSON', {}, 'x'.repeat(16_384)],
    [undefined, { options: ['a', 'b'] }, 'b'],
    ['must be one of "a", "b"', { options: ['a', 'b'] }, 'c'],
    [undefined, { schema: { type: 'number' } }, 1],
    [undefined, { schema: order }, { number: 3 }],
    [
      'does not match the schema: Instance type "string" is invalid. Expected "object".',
      { schema: order },
      'three',
    ],
    ['does not match the schema at /number: 0 is less than 1.', { schema: order }, { number: 0 }],
  ])('is %j for %j and %j', (problem, question, value) => {
    expect(answerProblem(question, value)).toBe(problem)
  })
})

it('compares questions without the order of keys, and ignores deadlines', () => {
  const question = { question: 'q', schema: { type: 'object', title: 'T' } }
  const same = { question: 'q', schema: { title: 'T', type: 'object' }, onExpiry: 'fail' } as const
  expect(isSameQuestion(question, same)).toBe(true)
  expect(isSameQuestion(question, { ...question, question: 'r' })).toBe(false)
  expect(isSameQuestion(question, { ...question, options: ['a'] })).toBe(false)
})

it.each([
  [0, 400, 300],
  [0, 7 * 86_400_000, 6 * 86_400_000],
])('reminds of a question from %i to %i at %i', (askedAt, deadlineAt, at) => {
  expect(reminderAt(askedAt, deadlineAt)).toBe(at)
})
