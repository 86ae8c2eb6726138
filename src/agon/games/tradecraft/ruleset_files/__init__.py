"""Makes and checks the files of data/rulesets (agon.games.tradecraft.commands)."""

from agon.games.tradecraft.ruleset_files.facts import taken_over as taken_over
from agon.games.tradecraft.ruleset_files.faults import faults as faults
from agon.games.tradecraft.ruleset_files.invented import Size as Size
from agon.games.tradecraft.ruleset_files.invented import invented as invented
from agon.games.tradecraft.ruleset_files.transforms import joint as joint
from agon.games.tradecraft.ruleset_files.transforms import permuted as permuted
from agon.games.tradecraft.ruleset_files.transforms import renamed as renamed
from agon.games.tradecraft.ruleset_files.transforms import rewired as rewired
from agon.games.tradecraft.ruleset_files.transforms import unheard as unheard
from agon.games.tradecraft.ruleset_files.writing import text_of as text_of
