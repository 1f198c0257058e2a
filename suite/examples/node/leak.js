// The leak filter: does a text hold something an agent must not see?
//
// Every pattern but the location's runs on at most MAX_LENGTH characters, because a longer text
// is withheld by its length alone. So the worst a backtracking engine can do here is a million
// steps, whatever a backend sends (LEAK-10). Keep each pattern at one scan per starting point.

/** The longest text that is forwarded, in UTF-16 code units after normalise() (LEAK-06). */
export const MAX_LENGTH = 1000;

const ROOTS = 'Users|home|var|usr|opt|srv|app|src|etc|tmp';
const EXTENSIONS = 'cs|tsx?|jsx?|py|java|rb|go|php|cpp|c|h|kt|swift';
const SETTINGS = 'Server|Data Source|Password|User Id|Uid|Pwd|Initial Catalog';
const SCHEMES = 'mongodb(?:\\+srv)?|postgres(?:ql)?|mysql|redis|amqp|mssql';

// Eight token characters of RFC 6750 make "Bearer token is missing" prose and not a credential.
const BEARER = /\bbearer\s+[\w.~+/=-]{8}/i;

const PATTERNS = [
  // LEAK-01: stack frames "at Some.Name(", "at token:line:column", and Python's header line.
  /(?:^|\s)at\s+[\w$.<>]*[\w$<>][\s.]*\(/,
  /(?:^|\s)at\s+\S+:\d+:\d+\)?(?:\s|$)/,
  /Traceback \(most recent call last\)/,

  // LEAK-02: exception types.
  /Exception\b/,
  /\b(?:Type|Reference|Syntax|Range|Eval|URI)Error\b/,

  // LEAK-03: paths. A root only counts where a path begins: /orders/home/5 is no home directory.
  /\b[A-Za-z]:\\\S/,
  /\\\\[^\s\\]+\\[^\s\\]/,
  new RegExp(`(?<![\\w.~/-])/(?:${ROOTS})/\\S`),
  new RegExp(`\\.(?:${EXTENSIONS}):(?:line )?\\d`, 'i'),

  // LEAK-04: connection strings.
  new RegExp(`(?:${SETTINGS})\\s*=\\s*[^;\\s][^;]*;`, 'i'),
  new RegExp(`\\b(?:${SCHEMES})://`, 'i'),
  /:\/\/[^\s/?#:@]*:[^\s/?#@]+@/,

  // LEAK-05, and a JWT, for which see holdsJwt.
  BEARER,
];

/** The text with each run of white space as one space, ends trimmed, lone surrogates replaced. */
export function normalise(text) {
  // A single space is not matched: most texts then have nothing to replace.
  return text.toWellFormed().replace(/\s{2,}|[^\S ]/g, ' ').trim();
}

/** Whether the text trips the filter, however its white space is laid out (LEAK-07). */
export function leaks(text) {
  const line = normalise(text);
  return line.length > MAX_LENGTH || PATTERNS.some((pattern) => pattern.test(line)) || holdsJwt(line);
}

/**
 * Whether a Location must be kept back (HEADER-07). It has no length limit and paths are its
 * business, so this looks for user information and credentials only, in linear time.
 */
export function locationLeaks(location) {
  return (
    /(?:^|:)\/\/[^\s/?#]*@/.test(location) ||
    [location, formDecode(location)].some((text) => BEARER.test(text) || holdsJwt(text))
  );
}

// Three dot-separated base64url parts, the first with eyJ at its start or after a hyphen. Cutting
// the text up costs one pass; as one expression, "-eyJa" over and over would cost its square.
function holdsJwt(text) {
  if (!text.includes('eyJ')) return false;
  return text.split(/[^\w.-]+/).some((token) => {
    const parts = token.split('.');
    return parts.some((part, i) => parts[i + 1] && parts[i + 2] && /\beyJ[\w-]/.test(part));
  });
}

function formDecode(text) {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text; // a stray % sign: it was not encoded
  }
}
