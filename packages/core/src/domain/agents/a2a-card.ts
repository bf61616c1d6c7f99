import { integerRule, textRule, type Rule } from '../values/input-rules.js'
import { isJsonObject } from '../values/json.js'
import { unknownFields } from '../values/nearest-name.js'

/** Publishes an agent at the A2A endpoint. Without this setting, clients cannot reach the agent. */
export type A2aSetting = {
  /** `false` hides the agent from clients. */
  readonly enabled: boolean
  readonly description?: string
  /** Absent or empty: the card has one skill, with the agent's name and description. */
  readonly skills?: readonly A2aSkill[]
}

/** A skill of the agent card, with the names of A2A. */
export type A2aSkill = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
}

const MAX_TEXT = 2_000
const MAX_LIST = 50
const SKILL_FIELDS = ['id', 'name', 'description', 'tags', 'examples']

/** Returns the problem of a setting, or undefined if it is valid. */
export function a2aProblem(setting: unknown): Rule {
  if (!isJsonObject(setting)) return 'must be an object'
  const { enabled, description, skills, ...others } = setting
  if (typeof enabled !== 'boolean') return 'needs the field enabled, which is true or false'
  const unknown = Object.keys(others)
  if (unknown.length > 0) return unknownFields(unknown, ['enabled', 'description', 'skills'])
  if (description !== undefined) {
    const problem = textRule(description, MAX_TEXT)
    if (problem !== undefined) return `has a description that ${problem}`
  }
  if (skills === undefined) return undefined
  if (!Array.isArray(skills)) return 'has skills that are not a list'
  if (integerRule(skills.length, 0, MAX_LIST)) return `must have at most ${MAX_LIST} skills`
  for (const [index, skill] of skills.entries()) {
    const problem = skillProblem(skill)
    if (problem !== undefined) return `has a skill (number ${index + 1}) that ${problem}`
  }
  return undefined
}

function skillProblem(skill: unknown): Rule {
  if (!isJsonObject(skill)) return 'must be an object'
  const { id, name, description, tags, examples = [], ...others } = skill
  const unknown = Object.keys(others)
  if (unknown.length > 0) return unknownFields(unknown, SKILL_FIELDS)
  for (const [field, text] of Object.entries({ id, name, description })) {
    const problem = textRule(text, MAX_TEXT)
    if (problem !== undefined) return `has the field ${field}, which ${problem}`
  }
  if (!areTexts(tags)) return `needs tags: a list of at most ${MAX_LIST} texts`
  return areTexts(examples) ? undefined : `has examples that are not at most ${MAX_LIST} texts`
}

const areTexts = (list: unknown): boolean =>
  Array.isArray(list) &&
  list.length <= MAX_LIST &&
  list.every((text) => textRule(text, MAX_TEXT) === undefined)
