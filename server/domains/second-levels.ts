/**
 * Second levels under which registries take registrations, of the ccTLDs that visitors of a European host search for
 * most: a selection in the sense of the ICANN section of the Public Suffix List (publicsuffix.org), not a copy of it.
 * It decides between two refusals alone, that of an unknown TLD and that of a subdomain; what is on sale is the catalog's.
 */
export const secondLevels: ReadonlySet<string> = new Set(
  Object.entries({
    at: 'ac co gv or',
    au: 'asn com edu gov id net org',
    br: 'com edu gov net org',
    cn: 'ac com edu gov net org',
    cy: 'ac biz com gov ltd net org',
    es: 'com edu gob nom org',
    fr: 'asso com gouv nom prd',
    gr: 'com edu gov net org',
    hr: 'com from iz name',
    hu: 'co info org',
    il: 'ac co gov net org',
    in: 'ac co edu gov net org',
    jp: 'ac co go ne or',
    kr: 'ac co go ne or',
    me: 'ac co edu gov its net org priv',
    mt: 'com edu net org',
    mx: 'com edu gob net org',
    nz: 'ac co geek gen govt net org school',
    pl: 'com edu gov info net org waw',
    pt: 'com edu gov nome org',
    ro: 'com info nom org store www',
    rs: 'ac co edu gov in org',
    th: 'ac co go in or',
    tr: 'av bel bbs biz com dr edu gen gov info k12 name net org pol tel tsk tv web',
    tw: 'com edu gov idv net org',
    ua: 'com edu gov in kiev net org',
    uk: 'ac co gov ltd me net nhs org plc police sch',
    za: 'ac co gov law net org web',
  }).flatMap(([tld, names]) => names.split(' ').map((name) => `${name}.${tld}`)),
);
