// The patterns that plain English avoids, as one expression each.

/** Starts of a sentence and of a clause. */
const CLAUSE = String.raw`(?:^|[.!?;:—–(]["')\]]*\s|\(|\s-\s)\s*["'(]*`
const COMMA = String.raw`,\s+`
/** Words after which a relative pronoun has no noun to refer to. */
const LINK = String.raw`\b(?:of|for|to|from|by|with|in|on|at|as|than|about|after|before|without|under|over|and|or|but|that|is|are|was|were|be|not|only|all|just|until|because|except)\s+`
const NO_QUESTION = String.raw`(?![^.!]*\?)`
const VERB =
  '(?:is|are|was|were|be|has|have|had|can|cannot|must|does|do|did|would|will|comes|needs)'
const PREPOSITION = '(?:of|with|without|from|for|in|on|at|to|by)'
const DETERMINER = '(?:the|a|an|any|this|that|these|those|its|their|our|your|my|his|her)'
/** Nouns that name a plan, as in "the goal is to send". */
const PLAN =
  '(?:goal|purpose|aim|way|idea|step|point|job|task|use|option|default|intent|fix|reason|alternative|solution|approach|workaround|pattern|thing)'

/** Not "of late answers". */
const OF_LATE = String.raw`of late(?=\s*(?:[,.;:)]|$)| (?:and|are|by|has|have|in|is|that|was|were)\b)`

const pattern = (...parts) => new RegExp(parts.join(''), 'gi')
const words = (...list) =>
  pattern(String.raw`\b(?:`, list.join('|').replaceAll(' ', String.raw`\s+`), String.raw`)\b`)

export const PATTERNS = {
  'bare what': pattern(
    `(?:${CLAUSE}|${COMMA}|${LINK})`,
    String.raw`what\b(?!\s+if\b)`,
    NO_QUESTION,
  ),
  'bare who': pattern(`(?:${CLAUSE}|${LINK})`, String.raw`(?:who|whom|whose)\b`, NO_QUESTION),
  whoever: words('whoever', 'whomever', 'whatever', 'whichever'),
  'bare those': pattern(
    String.raw`\bthose(?=\s*(?:[,.;:)—]|$)|\s+(?:that|which|who|whose|it|the|only|alone|too|here|there|${PREPOSITION}|${VERB})\b)`,
  ),
  'starts with it': pattern(`(?:${CLAUSE}|${COMMA})`, String.raw`it\b`),
  somebody: words(
    '(?:some|any|every|no)body',
    '(?:some|any|every|no )one',
    'something',
    'somewhere',
  ),
  'its own': words('of (?:its|their|his|her|our|your) own', 'by (?:itself|themselves)'),
  anew: words('anew', OF_LATE, 'meanwhile', 'thereby', 'but for', 'whence', 'hence', 'lest'),
  'so many': words('so long', 'so many'),
  'is to': pattern(
    String.raw`(?<!\b${PLAN}\s)\b(?:is|are|was|were)\s+(?:not\s+)?to\s+(?!(?:${DETERMINER}|x+)\b)[a-z]`,
  ),
  may: /(?<!\d )\bmay\b|(?:^|[.!?]\s+)May\b(?! \d)/g,
  'for = because': pattern(
    String.raw`[,;—]\s+for\s+(?:(?:${DETERMINER}|no|each|every|only)\s+(?:[a-z-]+\s+){0,3}|(?:it|they|there|nobody|nothing)\s+)${VERB}\b`,
    String.raw`|[,;—]\s+for\s+(?:it|they|he|she|we)\s`,
  ),
  semicolon: /(?<!&\w+);(?=\s)/g,
  'over 40 words': /(?:[A-Za-z]+(?:(?![.!?]["')\]]*\s)[^A-Za-z])+){41,}/g,
}

export const countWords = (text) => text.match(/[A-Za-z][\w'’-]*/g)?.length ?? 0
